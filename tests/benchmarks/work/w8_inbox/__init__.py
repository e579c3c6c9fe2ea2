"""W8: the inbox. List the 1,000 threads that wait, with what they ask, among 10,000; and only the first 100.

Each thread has a message of 1 kB. langgraph's rows of one finished and one waiting thread are written by it and then copied under other
thread ids; its only query over threads is `list(None)`, here the synchronous one, which takes a small part of `alist`'s time. The
project's threads are all run.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Growth, Limit, Ratio
from harness.meter import Meter
from harness.sqlite_counts import table_scans

MODES = (
    Mode("10,000 threads", "normal", {"threads": 10_000, "waiting": 1000}, {"threads": 10_000, "waiting": 1000}),
    Mode("2,000 threads", "normal", counts={"threads": 2000, "waiting": 1000}, timed=False),
)
GOALS = (
    Ratio("10,000 threads", "list_us", "list 1,000 waiting threads", floor=5, langgraph=200),
    Ratio("10,000 threads", "first_us", "list the first 100", floor=10),
    Limit("10,000 threads", "scans", "queries that read a whole table", 0),
    Growth("10,000 threads/list_vm_steps", "2,000 threads/list_vm_steps", "SQLite's steps to list, of 10,000 threads to of 2,000", 1.05),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, threads: int, waiting: int) -> None:
    async with peer.module.opened(store, path) as inbox:
        await inbox.fill(threads, waiting)
        for limit, name in ((waiting, "list"), (100, "first")):
            for _ in range(inbox.repeats):
                with meter.span(name):
                    found = await inbox.waiting(limit)
                assert len(found) == limit, len(found)
        if meter.counting:
            meter.note("scans", table_scans(path, meter.statements["list"]))

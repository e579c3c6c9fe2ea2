"""W9: `n` threads at once in one process, one turn each: a node that answers with a message of 1 kB, and one that ends.

The floor shares its transactions between threads: one writing thread, and what is queued while it commits goes into the next transaction.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Limit, Ratio
from harness.meter import Meter
from harness.texts import texts

MODES = (
    Mode("none", "none", {"n": 1000}),
    Mode("memory", "memory", {"n": 1000}),
    Mode("sqlite normal", "normal", counts={"n": 1000}, timed=False),
    Mode("sqlite full", "full", {"n": 1000}),
)
GOALS = (
    Ratio("none", "turn_us", "a turn among 1,000, nothing kept", floor=7, langgraph=20),
    Ratio("memory", "turn_us", "a turn among 1,000, kept in memory", floor=6, langgraph=20),
    Ratio("sqlite full", "turn_us", "a turn among 1,000, SQLite FULL", floor=2.5, langgraph=20),
    Limit("sqlite normal", "turn_commits", "commits a turn", 0.999),
    Ratio("sqlite normal", "turn_rows", "rows changed by a turn"),
    Ratio("sqlite normal", "turn_calls", "function calls a turn"),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    said, answers = texts(n, seed=1), texts(n, seed=2)
    async with peer.module.opened(store, path) as turn:
        await asyncio.gather(*[turn(f"warm-{i}", said[i], answers[i]) for i in range(30)])
        with meter.span("turn", per=n):
            lengths = await asyncio.gather(*[turn(f"t{i}", said[i], answers[i]) for i in range(n)])
        assert lengths == [2] * n

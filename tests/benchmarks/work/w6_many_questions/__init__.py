"""W6: `n` tasks of one superstep, each of which asks. List what waits, answer some one at a time, then all the rest at once.

Each task's function notes that it ran: an answer should run the one task that was answered.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Growth, Limit, Ratio
from harness.meter import Meter

MODES = (
    Mode("n = 1,000", "normal", {"n": 1000, "singly": 20}, {"n": 1000, "singly": 5}),
    Mode("n = 100", "normal", counts={"n": 100, "singly": 5}, timed=False, peers=("floor", "project")),
    Mode("n = 10", "normal", {"n": 10, "singly": 9}, {"n": 10, "singly": 9}),
    # without langgraph: each of its answers runs all that wait again, so that its time grows with the square of n
    Mode("one by one", "normal", {"n": 1000, "singly": 1000}, peers=("floor", "project")),
)
GOALS = (
    Ratio("n = 1,000", "suspend_us", "1,000 tasks ask", floor=12, langgraph=20),
    Ratio("n = 1,000", "list_us", "list the 1,000 that wait"),
    Ratio("n = 1,000", "answer_one_us", "answer one of 1,000", floor=8, langgraph=500),
    Ratio("n = 10", "answer_one_us", "answer one of 10", floor=8),
    Ratio("n = 1,000", "rest_us", "answer the other 980 at once", floor=4, langgraph=20),
    Ratio("one by one", "all_us", "answer all 1,000 one by one", floor=25),
    Limit("n = 1,000", "answer_one_bodies", "task functions run by one answer of 1,000", 1),
    Limit("n = 1,000", "answer_one_commits", "commits of one answer of 1,000", 3),
    Ratio("n = 1,000", "answer_one_rows", "rows changed by one answer of 1,000"),
    Ratio("n = 1,000", "answer_one_calls", "function calls to answer one of 1,000"),
    Growth("n = 1,000/answer_one_calls", "n = 10/answer_one_calls", "function calls to answer one of 1,000, to one of 10", 1.1),
    Growth("n = 1,000/suspend_calls", "n = 100/suspend_calls", "function calls when 1,000 ask, to when 100 ask", 11),
    Growth("n = 1,000/rest_calls", "n = 100/rest_calls", "function calls to answer the rest of 1,000, to those of 100", 11),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int, singly: int) -> None:
    async with peer.module.opened(store, path) as thread_of:
        warm = thread_of("warm", 10)
        await warm.suspend()
        await warm.answer(await warm.waiting())
        thread = thread_of("t", n)
        with meter.span("suspend"):
            asked = await thread.suspend()
        assert asked == n, asked
        with meter.span("list"):
            ids = await thread.waiting()
        assert len(ids) == n, len(ids)
        if singly == n:
            with meter.span("all"):
                for id in ids:
                    await thread.answer([id])
        else:
            thread.bodies = 0
            for id in ids[:singly]:
                with meter.span("answer_one"):
                    await thread.answer([id])
            meter.note("answer_one_bodies", thread.bodies / singly)
            with meter.span("rest"):
                await thread.answer(ids[singly:])
        assert thread.total == n * (n - 1), thread.total

"""W2: a fan-out. One node makes `n` tasks of one superstep, all at once; a join adds up what they wrote."""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Growth, Limit, Ratio
from harness.meter import Meter

MODES = (
    Mode("none", "none", {"n": 1000}, {"n": 1000}),
    Mode("none, n = 300", "none", counts={"n": 300}, timed=False),
    Mode("none, n = 3,000", "none", counts={"n": 3000}, timed=False),
    Mode("sqlite normal", "normal", counts={"n": 1000}, timed=False),
    Mode("sqlite full", "full", {"n": 1000}),
)
GOALS = (
    Ratio("none", "task_us", "a task, nothing kept", floor=3, langgraph=10),
    Ratio("sqlite full", "task_us", "a task, SQLite FULL", floor=4, langgraph=20),
    # three for the superstep of 1,000; taking the thread, the node before and the join make one each
    Limit("sqlite normal", "run_commits", "commits of the run, 1,000 tasks", 3 + 3),
    Ratio("none", "task_calls", "function calls a task, nothing kept"),
    Growth("none, n = 3,000/task_calls", "none, n = 300/task_calls", "function calls a task at 3,000 tasks, to those at 300", 1.1),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    async with peer.module.opened(store, path) as fan_out:
        await fan_out("warm", 30)
        with meter.span("task", per=n):
            total = await fan_out("t", n)
        assert total == n * (n - 1), total
        if "task_commits" in meter.numbers:
            meter.note("run_commits", meter.numbers["task_commits"] * n)

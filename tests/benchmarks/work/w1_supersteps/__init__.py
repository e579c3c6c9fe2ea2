"""W1: what a superstep costs. Two nodes that go to each other, a state of two values, `n` supersteps.

Where nothing goes to a file the floor runs each node in an asyncio task of its own, as a superstep runtime may have to.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Limit, Ratio
from harness.meter import Meter

MODES = (
    Mode("none", "none", {"n": 1000}, {"n": 1000}),
    Mode("memory", "memory", {"n": 1000}, {"n": 1000}),
    Mode("sqlite normal", "normal", {"n": 1000}, {"n": 1000}),
    Mode("sqlite full", "full", {"n": 1000}),
)
GOALS = (
    Ratio("none", "superstep_us", "a superstep, nothing kept", floor=3, langgraph=10),
    Ratio("memory", "superstep_us", "a superstep, kept in memory", floor=3.5, langgraph=10),
    Ratio("sqlite normal", "superstep_us", "a superstep, SQLite NORMAL", floor=4, langgraph=10),
    Ratio("sqlite full", "superstep_us", "a superstep, SQLite FULL", floor=1.5, langgraph=3),
    Limit("none", "superstep_calls", "function calls a superstep, nothing kept", 120),
    Ratio("memory", "superstep_calls", "function calls a superstep, kept in memory"),
    # the run's first commit, which takes the thread, comes on top of a thousand
    Limit("sqlite normal", "superstep_commits", "commits a superstep", 1.01),
    Ratio("sqlite normal", "superstep_rows", "rows changed by a superstep"),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    async with peer.module.opened(store, path) as supersteps:
        await supersteps("warm", 30)
        with meter.span("superstep", per=n):
            done = await supersteps("t", n)
        assert done == n, done

"""W5: from a person's answer to the next question, in a process that goes on. ask, which waits - act - ask again.

In langgraph the node that asked runs again to take its answer, and then `act` runs; in the project the answer goes to `act`.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Limit, Ratio
from harness.meter import Meter

MODES = (
    Mode("sqlite normal", "normal", {"n": 60}, {"n": 20}),
    Mode("sqlite full", "full", {"n": 60}),
)
GOALS = (
    Ratio("sqlite normal", "resume_us", "a resume, SQLite NORMAL", floor=3, langgraph=10),
    Ratio("sqlite full", "resume_us", "a resume, SQLite FULL", floor=2, langgraph=4),
    Limit("sqlite normal", "resume_commits", "commits a resume", 3),
    Ratio("sqlite normal", "resume_rows", "rows changed by a resume"),
    Ratio("sqlite normal", "resume_calls", "function calls a resume"),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    async with peer.module.opened(store, path) as thread:
        await thread.start()
        for _ in range(5):
            await thread.resume("yes")
        for number in range(6, 6 + n):
            with meter.span("resume"):
                question = await thread.resume("yes")
            assert question == {"q": number}, question

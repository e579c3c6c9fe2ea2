"""W3: an agent's turn on a new thread. The model asks for one tool, the tool runs, the model answers; the model answers at once.

The time is that of the first 200 turns of a process, as it was when the goals were set; calls, commits and rows are counted after ten
turns. The floor validates the tool's arguments and commits three times. With nothing kept the project's agent is made without a runtime,
and then still keeps its threads in memory.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Limit, Ratio
from harness.meter import Meter

MODES = (
    Mode("none", "none", {"n": 200}, {"n": 50}),
    Mode("sqlite normal", "normal", counts={"n": 50}, timed=False),
    Mode("sqlite full", "full", {"n": 200}),
)
GOALS = (
    Ratio("none", "turn_us", "a turn, nothing kept", floor=12, langgraph=7),
    Ratio("sqlite full", "turn_us", "a turn, SQLite FULL", floor=2.5, langgraph=6),
    Limit("sqlite normal", "turn_commits", "commits a turn", 4),
    Ratio("sqlite normal", "turn_rows", "rows changed by a turn"),
    Limit("none", "turn_calls", "function calls a turn, nothing kept", 1500),
)

QUESTION = "Weather in Oslo?"
ARGUMENTS = {"city": "Oslo"}
ANSWER = "It is sunny."
MESSAGES = 4


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    async with peer.module.opened(store, path) as turn:
        for i in range(10 if meter.counting else 0):
            await turn(f"warm-{i}")
        with meter.span("turn", per=n):
            for i in range(n):
                messages = await turn(f"t{i}")
        assert messages == MESSAGES, messages

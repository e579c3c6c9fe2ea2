"""W4: a thread that grows. Each turn adds a message of 1 kB and an answer of 1 kB; each with random text of its own.

"re-read" takes the thread up from the file for each turn: the floor reads its rows on the open connection, the project goes through a
fresh runtime over the open store (nothing is held), langgraph always does. "hot" goes on with what the process holds.
"""

from __future__ import annotations

from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Growth, Ratio
from harness.meter import Meter
from harness.sqlite_counts import stored_bytes
from harness.texts import texts

TURNS = 200

MODES = (
    Mode("re-read", "normal", {"hot": 0}, {"hot": 0}),
    Mode("hot", "normal", {"hot": 1}, {"hot": 1}, peers=("floor", "project")),
)
GOALS = (
    Ratio("re-read", "turn_200_us", "turn 200, re-read", floor=2, langgraph=10),
    Growth("hot/turn_200_us", "hot/turn_10_us", "turn 200 to turn 10, hot", 1.3),
    Ratio("re-read", "bytes_200", "bytes stored after turn 200", floor=1.5, langgraph=200),
    Growth("re-read/turn_200_rows", "re-read/turn_10_rows", "rows changed by turn 200, to those by turn 10", 1),
    Growth("re-read/turn_200_bytes", "re-read/turn_10_bytes", "bytes stored by turn 200, to those by turn 10", 1.02),
    Growth("hot/turn_200_calls", "hot/turn_10_calls", "function calls of turn 200, to those of turn 10, hot", 1.1),
)


def window(turn: int) -> str:
    """The ten turns before and with 10, 50, 100 and 200 are measured under that name; the others are not told of."""
    for last in (10, 50, 100, 200):
        if last - 10 < turn <= last:
            return f"turn_{last}"
    return "turn_between"


async def measure(peer: Peer, meter: Meter, store: str, path: Path, hot: int) -> None:
    said, answers = texts(TURNS, seed=1), texts(TURNS, seed=2)
    async with peer.module.opened(store, path, bool(hot)) as turn:
        before = 0
        for number in range(1, TURNS + 1):
            with meter.span(window(number)):
                length = await turn(said[number - 1], answers[number - 1])
            assert length == 2 * number, length
            if not meter.counting:
                continue
            if number in (9, 49, 99, 199):
                before = stored_bytes(path)
            elif number in (10, 50, 100, 200):
                now = stored_bytes(path)
                meter.note(f"bytes_{number}", now)
                meter.note(f"turn_{number}_bytes", now - before)

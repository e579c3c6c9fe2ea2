"""W5, cold: a new process answers one question and ends. Start Python, import, build the graph, open the file, resume, be durable, exit.

Each peer's file is a script, `prepare FILE` and then `resume FILE`, that imports nothing of this harness.
"""

from __future__ import annotations

import json
from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Ratio
from harness.meter import Meter
from harness.whole_process import python

MODES = (Mode("whole process", "full", {"n": 5}),)
GOALS = (
    # 3 where pydantic has to be loaded (2 where not)
    Ratio("whole process", "process_us", "answer one question in a new process", floor=3, langgraph=3),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int) -> None:
    for number in range(-1, n):  # the first one compiles
        file = path.with_name(f"{number}.db")
        python(peer.script, "prepare", file)
        ended = python(peer.script, "resume", file)
        assert json.loads(ended.printed) == {"q": 1}, ended.printed
        if number >= 0:
            meter.add("process_us", ended.wall_us)
            meter.add("process_cpu_us", ended.cpu_us)

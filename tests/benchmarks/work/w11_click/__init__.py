"""W11: from a click on Approve to the next card, in JupyterLab with a real kernel: the message, the resume, the model, the next question,
the commits of each, the document back, the card drawn. Once in memory and once on a file.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from harness.browser import ninetieth
from harness.case import Mode, Peer
from harness.goal import Limit
from harness.meter import Meter

MODES = (
    Mode("in memory", "memory", {"clicks": 30}, peers=("project",)),
    Mode("on a file", "normal", {"clicks": 30}, peers=("project",)),
)
GOALS = tuple(
    goal
    for mode in ("in memory", "on a file")
    for goal in (
        Limit(mode, "p90_us", f"click to the next card drawn, {mode}, nine of ten below, us", 100_000),
        Limit(mode, "median_us", f"the same, median, {mode}, us", 100_000),
    )
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, clicks: int) -> None:
    samples = await asyncio.to_thread(peer.module.clicked, store, clicks)
    meter.note("p90_us", ninetieth(samples) * 1000)
    for one in samples:
        meter.add("median_us", one * 1000)

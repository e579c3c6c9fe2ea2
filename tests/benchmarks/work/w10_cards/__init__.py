"""W10: a thousand cards in one panel, in Chromium. The first view of them to its first frame, a letter typed on one of them to its frame,
and a leap through the list to the frame that shows cards there. The model is in the page, so only the browser's part is measured.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from harness.case import Mode, Peer
from harness.goal import Limit
from harness.meter import Meter

MODES = (Mode("1,000 cards", "none", {"cards": 1000}, peers=("project",)),)
GOALS = (
    Limit("1,000 cards", "first_paint_us", "first frame of a panel of 1,000 cards, us", 1_000_000),
    Limit("1,000 cards", "typed_us", "a letter typed on a card to its frame, us", 100_000),
    Limit("1,000 cards", "leap_us", "a leap through the list to the cards there, us", 200_000),
    Limit("1,000 cards", "drawn", "cards in the page", 60),
)


async def measure(peer: Peer, meter: Meter, store: str, path: Path, cards: int) -> None:
    for name, samples in (await asyncio.to_thread(peer.module.seen, cards)).items():
        for one in samples:
            meter.add(name, one if name == "drawn" else one * 1000)

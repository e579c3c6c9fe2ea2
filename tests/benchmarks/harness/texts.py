"""Message bodies of 1 kB. Random letters, each its own, so that nobody gains by noticing that two are the same."""

from __future__ import annotations

import random
import string

KILOBYTE = 1000
_LETTERS = string.ascii_letters + string.digits + " "


def texts(count: int, seed: int = 1) -> list[str]:
    """The same for every peer."""
    random_ = random.Random(seed)
    return ["".join(random_.choices(_LETTERS, k=KILOBYTE)) for _ in range(count)]

"""A clock for what a test measures in seconds."""

from __future__ import annotations


class Ticking:
    """Moves by itself: each look at it is a second later than the one before."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now

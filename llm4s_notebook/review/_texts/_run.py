"""One pass of the guardrails over the texts that are not checked yet (T1.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

from ...checkpoint import Clock
from ._check import Checked, Labelled, check_text


class TextRun:
    """Checks texts, so many at a time, and tells each result. What is told stays, however the run ends."""

    def __init__(self, guardrails: Sequence[Labelled], texts: Sequence[str], concurrency: int, clock: Clock) -> None:
        self.cancelling = False
        self.checked = 0
        self._guardrails = guardrails
        self._texts = texts
        self._concurrency = concurrency
        self._clock = clock
        self._started_at = clock.now()
        self._checkers: list[asyncio.Task[None]] = []

    @property
    def per_second(self) -> float | None:
        """Texts checked each second so far; None before there is anything to divide."""
        seconds = (self._clock.now() - self._started_at).total_seconds()
        return self.checked / seconds if seconds > 0 and self.checked else None

    async def go(self, positions: Sequence[int], told: Callable[[int, Checked], None]) -> None:
        """Check the texts at these positions, in order but side by side, until all are done or `cancel` is called.

        Raises: what a guardrail raises that is no Exception, and CancelledError; then no checker is left behind.
        """
        left = iter(positions)
        self._checkers = [
            asyncio.get_running_loop().create_task(self._check(left, told), name="llm4s text check")
            for _ in range(min(self._concurrency, len(positions)))
        ]
        try:
            await asyncio.gather(*self._checkers)
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not self.cancelling or (current is not None and current.cancelling()):
                raise
        finally:
            for checker in self._checkers:
                checker.cancel()
            await asyncio.gather(*self._checkers, return_exceptions=True)

    def cancel(self) -> None:
        """Stop: checks under way are given up, a plain function among them is waited for (D24)."""
        self.cancelling = True
        for checker in self._checkers:
            checker.cancel()

    async def _check(self, left: Iterator[int], told: Callable[[int, Checked], None]) -> None:
        for position in left:
            checked = await check_text(self._guardrails, self._texts[position])
            self.checked += 1
            told(position, checked)
            await asyncio.sleep(0)  # a check that waits for nothing leaves the loop no room of its own

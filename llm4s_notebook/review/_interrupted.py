"""What ends a cell in which a person is awaited when the kernel is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

from ..errors import lines_in_a_cell


class CellInterrupted(asyncio.CancelledError):
    """The cancellation that ended the cell (D2), with words for the person who interrupted it.

    In a cell it is two lines and not the traceback of a wait, in which nothing went wrong; `%tb` shows that one.
    """

    def __init__(self, what: str, next_step: str) -> None:
        self.what = what
        self.next_step = next_step
        super().__init__(f"{what} · {next_step}")

    def _render_traceback_(self) -> list[str]:
        return lines_in_a_cell(self, self.what, next_step=self.next_step)


@contextmanager
def told_when_interrupted(what: str, next_step: str) -> Generator[None]:
    """Say this where a cancellation ends what is done here."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        raise CellInterrupted(what, next_step) from cancelled

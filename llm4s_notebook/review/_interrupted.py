"""What ends a cell in which a person is awaited when the kernel is interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

from ..errors import lines_in_a_cell


def say_interrupted(cancelled: asyncio.CancelledError, what: str, next_step: str) -> None:
    """Give the cancellation that ends a cell (D2) words for the person who interrupted it.

    In a cell it is two lines and not the traceback of a wait, in which nothing went wrong; `%tb` shows that one, with the same words.
    It stays the cancellation it was: `asyncio.timeout` and task groups of Python 3.11 and 3.12 take no subclass for their own.
    """
    cancelled.add_note(f"{what} · {next_step}")
    cast(Any, cancelled)._render_traceback_ = lambda: lines_in_a_cell(cancelled, what, next_step=next_step)


@contextmanager
def told_when_interrupted(what: str, next_step: str) -> Generator[None]:
    """Say this where a cancellation ends what is done here."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        say_interrupted(cancelled, what, next_step)
        raise

"""The root of the tree: what happened, where, and what to do next."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable
from typing import Self


def listed(items: Iterable[object]) -> str:
    return "; ".join(str(item) for item in items)


def printable(text: str) -> str:
    """The text with lone surrogates, which no terminal, file or store takes, written out as escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def half_character(text: str) -> int | None:
    """Where a text holds a lone surrogate, half of a character, so that no store takes it; None where it is whole."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def text_of(error: BaseException) -> str:
    """An error's own text in a form that can be shown and stored; empty where the error has none, or cannot say it."""
    try:
        return printable(str(error))
    except Exception:  # a foreign class's `__str__` may do anything
        return ""


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


def _asked_for_traceback() -> bool:
    """Whether this is rendered because a person typed `%tb`: IPython asks an exception the same way as when it is raised."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "tb" and frame.f_globals.get("__name__") == "IPython.core.magics.execution":
            return True
        frame = frame.f_back
    return False


def lines_in_a_cell(error: BaseException, what: str, *, where: str = "", next_step: str = "") -> list[str]:
    """What a cell that ended with this error shows: what happened, where, and what to do next; after `%tb` its traceback."""
    if _asked_for_traceback():
        return [line.rstrip("\n") for line in traceback.format_exception(error)]
    lines = [f"{type(error).__name__}: {_in_one_line(what)}"]
    if where:
        lines.append(f"  where: {_in_one_line(where)}")
    if next_step:
        lines.append(f"  next:  {_in_one_line(next_step)}")
    return lines


class Llm4sError(Exception):
    """The root: `what` happened, `where`, and the `next_step`, each one sentence.

    `recoverable` is true when `recover` with the same arguments may well succeed.
    """

    recoverable: bool = False

    def __init__(self, what: str, *, where: str = "", next_step: str = "") -> None:
        self.what = printable(str(what))  # a reason given by a user's code may be anything
        self.where = printable(where)
        self.next_step = next_step
        super().__init__(self._joined())

    def placed(self, where: str, next_step: str) -> Self:
        """Say where this ended a run and what to do now: whoever raised it could not know. A place of its own stays."""
        self.where = self.where or printable(where)
        self.next_step = next_step
        self.args = (self._joined(),)
        return self

    def _joined(self) -> str:
        return " · ".join(part for part in (self.what, self.where, self.next_step) if part)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints for this error in a cell: three lines instead of a traceback, which `%tb` prints whole."""
        return lines_in_a_cell(self, self.what, where=self.where, next_step=self.next_step)


def said_by(cause: BaseException) -> str:
    """What an error says of itself: its own words, or the class and text of a foreign one."""
    return cause.what if isinstance(cause, Llm4sError) else f"{type(cause).__name__}: {text_of(cause)}"

"""What finds one sort of personal data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from ._span import PiiSpan

BEFORE = r"(?<![0-9A-Za-z])"
AFTER = r"(?![0-9A-Za-z])"


class PiiRecognizer(Protocol):
    """Finds personal data in a folded text: plain digits and signs, nothing without width, one "\\ufffc" for each stretch already found.

    Called from worker threads, several at a time. It must take time in proportion to the text.
    """

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds it may find: lower-case letters, digits and underscores."""
        ...

    def find(self, text: str) -> Iterable[PiiSpan]:
        """Every stretch it takes for personal data, in any order; none is empty."""
        ...


class Shaped:
    """Finds what has a shape and passes a test.

    The shape is tried at every beginning of a run of letters and digits, at most once at each, so its own length bounds the work.
    A failed try hides none that begins later: what is left when the finds are taken out has nothing to find.
    """

    def __init__(self, kind: str, shape: str, valid: Callable[[str], bool], *, before: str = BEFORE, after: str = AFTER) -> None:
        self.kinds = (kind,)
        self._valid = valid
        self._pattern = re.compile(rf"{before}(?=({shape}){after})", re.ASCII | re.IGNORECASE)

    def find(self, text: str) -> Iterator[PiiSpan]:
        """Yield the leftmost finds, apart from each other."""
        (kind,) = self.kinds
        end = 0
        for match in self._pattern.finditer(text):
            if match.start() >= end and self._valid(match.group(1)):
                end = match.end(1)
                yield PiiSpan(match.start(), end, kind)

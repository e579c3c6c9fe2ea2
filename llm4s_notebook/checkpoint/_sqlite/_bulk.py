"""Many rows in few statements: what a superstep of a thousand tasks brings and ends."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Final

_AT_ONCE: Final = 16  # rows of one statement, which takes half the time of a statement for each


class Insert:
    """Adds rows to one table. `values` is what one row is made of, with a question mark for each thing given."""

    def __init__(self, into: str, values: str) -> None:
        self._one = f"INSERT INTO {into} VALUES ({values})"
        self._several = f"{self._one}{f', ({values})' * (_AT_ONCE - 1)}"

    def add(self, cursor: sqlite3.Cursor, rows: Sequence[Sequence[Any]]) -> None:
        """One after the other, in that order."""
        whole = len(rows) - len(rows) % _AT_ONCE
        if whole:
            groups = [(*chain.from_iterable(rows[at : at + _AT_ONCE]),) for at in range(0, whole, _AT_ONCE)]
            cursor.executemany(self._several, groups)
        if whole < len(rows):
            cursor.executemany(self._one, rows[whole:] if whole else rows)


def blob(text: bytes) -> bytearray | bytes:
    """Bytes as sqlite3 takes them quickest: for `bytes` it looks each time whether somebody wants to adapt them.

    What is given as bytes and is none stays what it is, for the database to refuse.
    """
    return bytearray(text) if type(text) is bytes else text


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers as the first and the last of each stretch without a gap. No number comes twice."""
    found: list[tuple[int, int]] = []
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None:
            first = number
        elif number != last + 1:
            found.append((first, last))
            first = number
        last = number
    if first is not None and last is not None:
        found.append((first, last))
    return found

"""Which entries of a thread lie in rows of their own, as far as that was looked up; a commit keeps it up to date.

A thread has few of them, but for what is parked, of which there may be thousands.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ._schema import ALIVE, LIST_HEAD, PARKED

_HEADS = f"SELECT section, name, id, position FROM llm4s_row WHERE thread = :key AND died = {ALIVE} AND list = 0"
_ALL = f"{_HEADS} LIMIT :most"
_OTHERS = f"{_HEADS} AND section < '{PARKED}' UNION ALL {_HEADS} AND section > '{PARKED}' LIMIT :most"
# INDEXED BY: with a section that is only given then, SQLite would plan anew each time, for the index of one section
_ONE = f"""SELECT id, position FROM llm4s_row INDEXED BY llm4s_row_by_death
    WHERE thread = ? AND died = {ALIVE} AND list = 0 AND section = ? AND name = ?"""
_LAST = f"SELECT max(position) FROM llm4s_row WHERE thread = ? AND died = {ALIVE} AND list = ? AND section = '' AND name = ''"
_FEW: Final = 64  # that are looked up at once, and remembered of any thread
_MANY: Final = 4096  # that are remembered of a thread at most


class Head(Struct, gc=False):
    """An entry in rows of its own: the row of its head, and how many items it has (None: not looked up yet, -1: it is one value)."""

    row: int
    length: int | None

    def items(self, connection: sqlite3.Connection, thread: int) -> int:
        """How many items the list has; -1 for a value."""
        if self.length is None:
            top: int | None = connection.execute(_LAST, (thread, self.row)).fetchone()[0]
            self.length = 0 if top is None else top + 1
        return self.length


class Heads:
    """The heads of one thread by section and name. Of an address with None it is known that nothing is there."""

    __slots__ = ("_all", "_found", "_looked", "_others")

    def __init__(self, *, none: bool = False) -> None:
        """`none`: the thread is known to have none; else nothing is known yet."""
        self._found: dict[tuple[str, str], Head | None] = {}
        self._looked = self._all = self._others = none

    def look(self, connection: sqlite3.Connection, thread: int) -> None:
        """Look all up if they are few, else all but the parked ones, before anything of a commit is changed."""
        if self._looked:
            return
        self._looked = True
        rows = connection.execute(_ALL, {"key": thread, "most": _FEW + 1}).fetchall()
        self._all = self._others = len(rows) <= _FEW
        if not self._all:
            rows = connection.execute(_OTHERS, {"key": thread, "most": _FEW + 1}).fetchall()
            self._others = len(rows) <= _FEW
        if self._others:
            self._found = {(section, name): _head(row, position) for section, name, row, position in rows}

    def find(self, connection: sqlite3.Connection, thread: int, at: tuple[str, str]) -> Head | None:
        """The head of that address, if there is one."""
        if at in self._found:
            return self._found[at]
        if self._complete(at):
            return None
        row = connection.execute(_ONE, (thread, *at)).fetchone()
        found = self._found[at] = None if row is None else _head(*row)
        return found

    def born(self, at: tuple[str, str], head: Head) -> None:
        """A commit brings it."""
        self._found[at] = head

    def end(self, connection: sqlite3.Connection, thread: int, at: tuple[str, str]) -> Head | None:
        """The same for a commit that ends it: from now on nothing is there."""
        if self._all:
            return self._found.pop(at, None)
        head = self.find(connection, thread, at)
        if head is not None:
            self._found[at] = None
        return head

    def gather(self, connection: sqlite3.Connection, thread: int) -> None:
        """Look all up that are not known yet: one query in place of one for each."""
        if not self._all:
            rows = connection.execute(_HEADS, {"key": thread}).fetchall()
            known = self._found  # what this commit has brought or ended is not in the file yet
            self._found = {(section, name): _head(row, position) for section, name, row, position in rows} | known
            self._looked = self._all = self._others = True

    @property
    def all(self) -> Mapping[tuple[str, str], Head | None] | None:
        """All of them, kept up to date; None while not all are known."""
        return self._found if self._all else None

    @property
    def many(self) -> bool:
        """True of a thread whose heads are only worth remembering while it is one of the last that were written to."""
        return len(self._found) > _FEW

    @property
    def too_many(self) -> bool:
        """True if even then they are not."""
        return len(self._found) > _MANY

    def few(self) -> None:
        """Forget what one of many threads is not worth: it may have thousands of heads."""
        if self.many:
            self._all = False
            self._found = {at: head for at, head in self._found.items() if head is not None and at[0] != PARKED}
            if len(self._found) > _FEW:
                self._found, self._looked, self._others = {}, False, False

    def _complete(self, at: tuple[str, str]) -> bool:
        """True if all of the section are known."""
        return self._all or (self._others and at[0] != PARKED)


def _head(row: int, position: int) -> Head:
    return Head(row, None if position == LIST_HEAD else -1)

"""What one checkpoint does to the table of rows, and the statements that do it."""

from __future__ import annotations

import sqlite3
from itertools import groupby
from typing import Any, Final

from ._bulk import Insert, runs
from ._schema import ALIVE, FIRST_SEQ

_OF_ROW = "id, thread, born, died, place, list, section, name, position"
_ROW = Insert(f"llm4s_row ({_OF_ROW}, value)", f"?, ?, ?, {ALIVE}, ?, ?, ?, ?, ?, ?")
_EMPTY_ROW = Insert(f"llm4s_row ({_OF_ROW})", f"?, ?, ?, {ALIVE}, ?, ?, ?, ?, ?")
_PART = Insert(f"llm4s_row ({_OF_ROW}, source, start, size)", f"?, ?, ?, {ALIVE}, ?, ?, ?, ?, ?, ?, ?, ?")
# no row refers to an item by its key, so SQLite gives it: the one after the last
_ITEM = Insert("llm4s_row (thread, born, died, place, list, section, name, position, value)", f"?, ?, {ALIVE}, ?, ?, '', '', ?, ?")
# which of them a new row is told by the number of its values
_BY_WIDTH: Final = {6: _ITEM, 8: _EMPTY_ROW, 9: _ROW, 11: _PART}
PARKED_VALUE = Insert("llm4s_parked (id, value)", "?, ?")
_CLOSE = "UPDATE llm4s_row SET died = ? WHERE id = ?"
_CLOSE_RUN = "UPDATE llm4s_row SET died = ? WHERE id BETWEEN ? AND ?"
_OF_LIST = f"WHERE thread = ? AND died = {ALIVE} AND list = ? AND section = '' AND name = ''"
_CLOSE_ITEM = f"UPDATE llm4s_row SET died = ? {_OF_LIST} AND position = ?"
_CLOSE_TAIL = f"UPDATE llm4s_row SET died = ? {_OF_LIST} AND position >= ?"


class Step:
    """The rows that one checkpoint ends, those it brings, in the order of their keys, and what else it ends: items of lists.

    What ends has `at` as its `died`, what comes as its `born`.
    """

    __slots__ = ("at", "born", "closed", "closed_items")

    def __init__(self, number: int) -> None:
        """`number`: the checkpoint's in its thread."""
        self.at = FIRST_SEQ + number
        self.closed: list[int] = []
        self.closed_items: list[tuple[str, tuple[int, ...]]] = []
        self.born: list[tuple[Any, ...]] = []

    def close_item(self, thread: int, head: int, position: int) -> None:
        """End one item of the list whose head has that key."""
        self.closed_items.append((_CLOSE_ITEM, (self.at, thread, head, position)))

    def close_tail(self, thread: int, head: int, position: int) -> None:
        """End the items of the list from that position on."""
        self.closed_items.append((_CLOSE_TAIL, (self.at, thread, head, position)))

    def write(self, cursor: sqlite3.Cursor) -> None:
        """Write it: first what ends, then what comes, which may stand in the place of what ended."""
        for first, last in runs(self.closed) if self.closed else ():
            if first == last:
                cursor.execute(_CLOSE, (self.at, first))
            else:
                cursor.execute(_CLOSE_RUN, (self.at, first, last))
        for statement, values in self.closed_items:
            cursor.execute(statement, values)
        for width, rows in groupby(self.born, len) if self.born else ():
            _BY_WIDTH[width].add(cursor, [*rows])

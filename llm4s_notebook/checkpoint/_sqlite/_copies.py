"""One text, stored once: a message that comes in is first a task's input, then an item of the state, then a part of the journal.

A value of a row can be a part of another row's value; a journal can have parts of rows cut out. What is referred to was born
no later than what refers to it, so a retraction that takes the one takes the other; pruning keeps a row that is referred to.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

LEAST: Final = 128  # bytes: a shorter text is not worth a reference
_PATIENCE: Final = 4 << 20  # bytes looked through at most to find the parts of one text
_INPUT: Final = b'"input":'  # where a task's record holds what it was given; only a hint where to look
_REF: Final = struct.Struct(">IQII")


class Part(NamedTuple):
    """So many bytes of a row's value, from `start` on."""

    row: int
    start: int
    size: int


class Texts:
    """The long values that one commit brings or ends, and where each lies."""

    def __init__(self) -> None:
        self._ended: list[tuple[bytes, int]] = []
        self._places: dict[bytes, Part] = {}
        self._new: dict[bytes, int] = {}  # whole values of rows that this commit brings

    def ended(self, value: bytes, row: int) -> None:
        """The row with that value is closed by this commit."""
        self._ended.append((value, row))
        at = value.find(_INPUT)
        if at >= 0:
            given = value[at + len(_INPUT) : -1]
            if len(given) >= LEAST:
                self._places[given] = Part(row, at + len(_INPUT), len(given))

    def place(self, value: bytes, row: int) -> Part | None:
        """Where the value lies already, or None: then it lies in `row` from now on."""
        if value in self._places:
            return self._places[value]
        if value in self._new:
            return Part(self._new[value], 0, len(value))
        for text, other in self._ended:
            at = text.find(value)
            if at >= 0:
                found = self._places[value] = Part(other, at, len(value))
                return found
        self._new[value] = row
        return None

    def cut(self, text: bytes) -> tuple[bytes, bytes | None]:
        """The text without what lies elsewhere, and the references that make it whole again."""
        known = len(self._places) + len(self._new)
        if len(text) < LEAST or not known or len(text) * known > _PATIENCE:
            return text, None
        found: list[tuple[int, Part]] = []
        for value, part in (*self._places.items(), *((value, Part(row, 0, len(value))) for value, row in self._new.items())):
            at = text.find(value)
            while at >= 0:
                found.append((at, part))
                at = text.find(value, at + len(value))
        if not found:
            return text, None
        found.sort(key=_longest_first)
        left: list[bytes] = []
        refs: list[bytes] = []
        end = 0
        for at, part in found:
            if at >= end:
                left.append(text[end:at])
                refs.append(_REF.pack(at, *part))
                end = at + part.size
        left.append(text[end:])
        return b"".join(left), b"".join(refs)


def _longest_first(one: tuple[int, Part]) -> tuple[int, int]:
    return (one[0], -one[1].size)


def parts(refs: bytes) -> list[tuple[int, Part]]:
    """Each part with its place in the whole text. Raises: ValueError."""
    if len(refs) % _REF.size:
        raise ValueError("a list of references is cut off")
    return [(at, Part(row, start, size)) for at, row, start, size in _REF.iter_unpack(refs)]


def whole(left: bytes, refs: bytes, values: Mapping[int, bytes]) -> bytes:
    """The text again; `values` are the rows' values. Raises: ValueError where they do not fit."""
    made: list[bytes] = []
    done = taken = 0
    for at, part in parts(refs):
        value = values.get(part.row, b"")[part.start : part.start + part.size]
        if len(value) != part.size or at < done:
            raise ValueError(f"row {part.row} does not hold what is referred to")
        made.append(left[taken : taken + at - done])
        taken += at - done
        made.append(value)
        done = at + part.size
    made.append(left[taken:])
    return b"".join(made)

"""The little values of a thread, written with each checkpoint: cheaper than a row to open and a row to close for each change.

One piece per entry: the number that orders it among the thread's entries, three lengths, section, name and value.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

MOST: Final = 1024  # bytes of all pieces of a checkpoint
_LARGEST: Final = 255  # bytes of a part of a piece
_HEAD: Final = struct.Struct(">IBBB")
_pack = _HEAD.pack
LEAST: Final = _HEAD.size  # bytes of a piece besides its three parts

Pieces: TypeAlias = dict[tuple[str, str], bytes]


def piece(number: int, section: str, name: str, value: bytes) -> bytes | None:
    """The piece, or None if the entry is too large to be one."""
    place = f"{section}{name}".encode()
    total, size = len(place), len(value)
    if size > _LARGEST:
        return None
    first = len(section)
    second = len(name)
    if total != first + second:  # not ASCII alone
        first = len(section.encode())
        second = total - first
    if first > _LARGEST or second > _LARGEST:
        return None
    return _pack(number, first, second, size) + place + value


def read(stored: bytes) -> Iterator[tuple[int, str, str, bytes]]:
    """Number, section, name and value of each. Raises: ValueError for bytes that are no pieces."""
    at, end = 0, len(stored)
    while at < end:
        if at + _HEAD.size > end:
            raise ValueError("an entry is cut off")
        number, section, name, value = _HEAD.unpack_from(stored, at)
        first = at + _HEAD.size
        second = first + section
        third = second + name
        at = third + value
        if at > end:
            raise ValueError("an entry is cut off")
        yield number, stored[first:second].decode(), stored[second:third].decode(), stored[third:at]


def pieces(stored: bytes) -> Pieces:
    """The pieces by section and name. Raises: ValueError."""
    found: Pieces = {}
    for number, section, name, value in read(stored):
        made = piece(number, section, name, value)
        assert made is not None
        found[(section, name)] = made
    return found

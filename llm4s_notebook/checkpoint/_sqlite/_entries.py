"""Rows and little values put together: the entries of a checkpoint. Texts are handed on as they are; rows must fit each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from .._patch import Entries, Entry
from . import _small
from ._schema import LIST_HEAD
from ._trouble import Damage

Head: TypeAlias = tuple[int, str, str, int, int, Any]
"""place, section, name, id, position, value"""
Item: TypeAlias = tuple[int, int, Any]
"""list, position, value"""
Lists: TypeAlias = dict[int, list[bytes]]
"""The items of lists in their order, by the row of the list's head."""


def text(value: Any, thread_id: str) -> bytes:
    """A stored value. Raises: Damage for what is no text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):  # edited with another program
        return value.encode()
    lost = ", or refers to text that is not there" if value is None else ""
    raise Damage(f"a value of thread '{thread_id}' is no JSON text but {value!r}{lost}")


def lists_of(items: Iterable[Item], thread_id: str) -> Lists:
    """The lists of these items, which come in their order. Raises: Damage where one is missing."""
    lists: Lists = {}
    last, length = 0, 0
    target: list[bytes] = []
    for of, position, value in items:
        if of != last:
            last, target = of, lists.setdefault(of, [])
            length = len(target)
        if position != length:
            raise _alone(of, position, thread_id)
        length += 1
        target.append(value if type(value) is bytes else text(value, thread_id))
    return lists


def entries_of(heads: Iterable[Head], lists: Lists, small: Any, checkpoint: int, thread_id: str) -> Entries:
    """The entries in the order in which they were numbered: `heads` with their lists, and the little values of that checkpoint.

    Raises: Damage for a list without a head and for bytes that are no values.
    """
    found: list[tuple[int, str, str, Entry]] = []
    for place, section, name, at, position, value in heads:
        found.append((place, section, name, lists.pop(at, []) if position == LIST_HEAD else text(value, thread_id)))
    for of, items in lists.items():
        if items:
            raise _alone(of, 0, thread_id)
    if small:
        try:
            found.extend(_small.read(text(small, thread_id)))
        except ValueError as error:
            raise Damage(f"the values of checkpoint {checkpoint} of thread '{thread_id}': {error}") from error
    found.sort(key=_place)
    return {(section, name): entry for _, section, name, entry in found}


class Past:
    """Rows with the times they were born and died, of which each checkpoint of a page sees some."""

    def __init__(self, heads: Sequence[tuple[Any, ...]], items: Sequence[tuple[Any, ...]], thread_id: str) -> None:
        """Times, then what a `Head` or an `Item` has. A text is looked at once, however many checkpoints see it. Raises: Damage."""
        self._thread_id = thread_id
        self._heads = heads
        self._lists: dict[int, list[tuple[int, int, int, bytes]]] = {}
        for born, died, of, position, value in sorted(items, key=_list_and_position):
            self._lists.setdefault(of, []).append((born, died, position, text(value, thread_id)))

    def entries(self, at: int, small: Any, checkpoint: int) -> Entries:
        """What the checkpoint born at that time sees. Raises: Damage."""
        heads = [one[2:] for one in self._heads if one[0] <= at < one[1]]
        lists: Lists = {}
        for of, items in self._lists.items():
            seen = [one for one in items if one[0] <= at < one[1]]
            for place, position in enumerate([one[2] for one in seen]):
                if position != place:
                    raise _alone(of, position, self._thread_id)
            lists[of] = [one[3] for one in seen]
        return entries_of(heads, lists, small, checkpoint, self._thread_id)


def _alone(of: int, position: int, thread_id: str) -> Damage:
    return Damage(f"a list item of thread '{thread_id}' stands alone: list {of}, position {position}")


_place = itemgetter(0)
_list_and_position = itemgetter(2, 3)  # of an item with its times

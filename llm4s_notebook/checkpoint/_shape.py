"""What a patch does to a store, worked out before anything is touched and without reading an entry's content.

A store answers one question - what is under (section, name)? - and gets back the least it has to write. Whatever the
operations undo among themselves is gone from the plan: an entry set twice is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from ..errors import InvalidCommit
from ._patch import Append, PatchOp, Replace, Set, Truncate, Unset

MISSING: Final = None
VALUE: Final = -1
Shape: TypeAlias = int | None
"""What is under an address: nothing (MISSING), one value (VALUE), or a list of so many items."""


@dataclass(slots=True)
class Change:
    """The net change of one entry.

    `whole`: the entry is closed, and `value` or `items` - where not None - is what stands in its place, at the section's end.
    Otherwise it is a list that stays: items from `kept` on are closed, `items` follow there, and `replaced` maps positions
    below `kept` to their new items.
    """

    base: Shape
    whole: bool
    value: bytes | None = None
    items: list[bytes] | None = None
    kept: int = 0
    replaced: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @property
    def shape(self) -> Shape:
        """What is under the address after the change."""
        if self.value is not None:
            return VALUE
        if self.items is None:
            return MISSING
        return self.kept + len(self.items)


Changes: TypeAlias = dict[tuple[str, str], Change]


def plan(patch: Iterable[PatchOp], shape_of: Callable[[str, str], Shape]) -> Changes:
    """The net changes of `patch` on entries of which only the shape is known; new entries are in the order of `apply_patch`.

    `shape_of` is asked at most once per address, and not for addresses that are only set or unset (base is MISSING then).

    Raises: InvalidCommit where an operation does not fit the entry it names, as `apply_patch` does.
    """
    changes: Changes = {}
    for op in patch:
        at = (op.section, op.name)
        change = changes.get(at)
        match op:
            case Set():
                changes.pop(at, None)
                changes[at] = Change(MISSING, True, value=op.value)
                continue
            case Unset():
                changes.pop(at, None)
                changes[at] = Change(MISSING, True)
                continue
            case Append():
                if change is None:
                    change = _opened(shape_of(*at))
                    changes[at] = change
                if change.value is not None:
                    raise InvalidCommit(reason=f"append to {at}, which is one value")
                if change.items is None:  # the entry begins here, also in order
                    changes.pop(at)
                    change = changes[at] = Change(change.base, True, items=[])
                assert change.items is not None
                change.items.extend(op.items)
            case Replace():
                change = _list_at(changes, at, shape_of)
                length = change.shape if change is not None else MISSING
                if change is None or length is None or not 0 <= op.index < length:
                    raise InvalidCommit(reason=f"replace item {op.index} of {at}, which has no such item")
                if op.index < change.kept:
                    change.replaced[op.index] = op.item
                elif change.items is not None:
                    change.items[op.index - change.kept] = op.item
            case Truncate():
                change = _list_at(changes, at, shape_of)
                length = change.shape if change is not None else MISSING
                if change is None or length is None or not 0 <= op.length <= length:
                    raise InvalidCommit(reason=f"truncate {at} to {op.length} items, which it does not have")
                _truncate(change, op.length)
    return changes


def _opened(base: Shape) -> Change:
    """An entry seen for the first time by an operation on lists, unchanged."""
    if base is None:  # MISSING
        return Change(base, True)
    if base == VALUE:
        return Change(base, True, value=b"")
    return Change(base, False, items=[], kept=base)


def _list_at(changes: Changes, at: tuple[str, str], shape_of: Callable[[str, str], Shape]) -> Change | None:
    change = changes.get(at)
    if change is None:
        opened = _opened(shape_of(*at))
        if opened.items is None:
            return None
        change = changes[at] = opened
    return change if change.items is not None else None


def _truncate(change: Change, length: int) -> None:
    assert change.items is not None
    if length >= change.kept:
        del change.items[length - change.kept :]
        return
    change.items.clear()
    change.kept = length
    for position in [p for p in change.replaced if p >= length]:
        del change.replaced[position]

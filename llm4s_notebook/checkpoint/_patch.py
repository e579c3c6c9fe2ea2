"""A checkpoint's change against its parent, as operations a store applies without knowing what they mean (D17).

A stored snapshot is a set of *entries*. An entry has a section (`state`, `task`, `parked`, `activation`, …) and a name,
and is either one JSON value or a list of JSON items. Values are compact JSON text as UTF-8 bytes: a store keeps them and
never decodes them, so what a caller passed in or got back cannot reach stored data (R6.2).

The order of the entries of a section is the order in which they were last set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias, final

from ..errors import InvalidCommit
from ._value import Value

Entry: TypeAlias = bytes | list[bytes]
Entries: TypeAlias = dict[tuple[str, str], Entry]


@final
class Set(Value, frozen=True):
    """Store one value under (section, name); an entry there before is replaced and moves to the section's end."""

    section: str
    name: str
    value: bytes


@final
class Unset(Value, frozen=True):
    """Remove the entry, value or list; nothing happens when there is none."""

    section: str
    name: str


@final
class Append(Value, frozen=True):
    """Add items to the end of a list entry; a missing entry becomes a list first (also with no items)."""

    section: str
    name: str
    items: tuple[bytes, ...]


@final
class Replace(Value, frozen=True):
    """Put `item` in place of the one at `index`, counted from zero."""

    section: str
    name: str
    index: int
    item: bytes


@final
class Truncate(Value, frozen=True):
    """Keep the first `length` items of a list entry."""

    section: str
    name: str
    length: int


PatchOp: TypeAlias = Set | Unset | Append | Replace | Truncate


def apply_patch(entries: Entries, patch: Iterable[PatchOp]) -> None:
    """Apply the operations in place. This is the meaning every store gives to a patch.

    Raises: InvalidCommit where an operation does not fit the entry it names (and leaves `entries` half changed: apply to a copy).
    """
    for op in patch:
        at = (op.section, op.name)
        if type(op) is Set:
            if at in entries:
                del entries[at]
            entries[at] = op.value
        elif type(op) is Unset:
            if at in entries:
                del entries[at]
        else:
            _change_list(entries, at, op)


def _change_list(entries: Entries, at: tuple[str, str], op: Append | Replace | Truncate) -> None:
    entry = entries.get(at)
    match op:
        case Append():
            if entry is None:
                entry = entries[at] = []
            if not isinstance(entry, list):
                raise InvalidCommit(reason=f"append to {at}, which is one value")
            entry.extend(op.items)
        case Replace():
            if not isinstance(entry, list) or not 0 <= op.index < len(entry):
                raise InvalidCommit(reason=f"replace item {op.index} of {at}, which has no such item")
            entry[op.index] = op.item
        case Truncate():
            if not isinstance(entry, list) or not 0 <= op.length <= len(entry):
                raise InvalidCommit(reason=f"truncate {at} to {op.length} items, which it does not have")
            del entry[op.length :]


def whole(entries: Mapping[tuple[str, str], Entry]) -> tuple[PatchOp, ...]:
    """The patch that makes these entries from nothing: what a fork and a rebased oldest checkpoint are written as."""
    return tuple(
        Append(section, name, tuple(entry)) if isinstance(entry, list) else Set(section, name, entry)
        for (section, name), entry in entries.items()
    )

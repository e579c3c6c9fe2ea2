"""A thread's values: the immutable store behind an execution, the view a reader gets, and how updates are applied (R1.17, R1.18).

Nothing a reader does to a value it was given reaches the committed one (STA-08): frozen values are shared, everything else is
decoded anew for each view.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast, final

from ..checkpoint import Append, PatchOp, Replace, Set, Truncate, Unset
from ..errors import EncodeError, StateUpdateFailed, UnknownStateKey
from ._key import StateKey

A = TypeVar("A")
AnyKey: TypeAlias = StateKey[Any, Any]
_MISSING: Final = object()
SECTION: Final = "state"


@final
class ValueSlot(NamedTuple):
    """One stored value: its JSON text, and the value itself where it may be shared."""

    data: bytes
    shared: Any = _MISSING


@final
class ListSlot(NamedTuple):
    """A stored list: the items themselves where they may be shared, else their JSON texts."""

    items: list[Any]
    shared: bool


Slot: TypeAlias = ValueSlot | ListSlot
Slots: TypeAlias = Mapping[str, Slot]


def slot_of(key: AnyKey, data: bytes | list[bytes]) -> Slot:
    """The slot of a stored entry, decoded where it will be shared. Raises: DecodeError."""
    if isinstance(data, list):
        joined = b"[" + b",".join(data) + b"]"
        value = key.codec.decode(joined)
        if key.item is not None and key.item.shareable:
            return ListSlot(cast(list[Any], value), True)
        return ListSlot(data, False)
    value = key.codec.decode(data)
    return ValueSlot(data, value if key.codec.shareable else _MISSING)


def entry_of(key: AnyKey, slot: Slot) -> bytes | list[bytes]:
    """What is stored of a slot: one JSON text, or one per item."""
    if isinstance(slot, ValueSlot):
        return slot.data
    if not slot.shared or key.item is None:
        return list(slot.items)
    dump = key.item.dump
    return [dump(item) for item in slot.items]


def read_slot(key: AnyKey, slot: Slot | None) -> Any:
    """A value for one reader."""
    if slot is None:
        return key.initial()
    if type(slot) is ValueSlot:
        return key.codec.decode(slot.data) if slot.shared is _MISSING else slot.shared
    if slot.shared:
        return list(slot.items)
    return key.codec.decode(b"[" + b",".join(slot.items) + b"]")


class ThreadState:
    """A read-only snapshot of a thread's values (R1.17)."""

    __slots__ = ("_keys", "_read", "_slots")

    def __init__(self, keys: Mapping[str, AnyKey], slots: Slots) -> None:
        self._keys = keys
        self._slots = slots
        self._read: dict[str, Any] = {}

    def __getitem__(self, key: StateKey[A, Any]) -> A:
        """The stored value, or the key's initial one. Raises: UnknownStateKey for a key the graph does not have."""
        id = key.id
        if id not in self._keys:
            raise UnknownStateKey(key=id)
        known = self._keys[id]
        if known is not key and known != key:
            raise UnknownStateKey(key=id)
        if id not in self._read:
            self._read[id] = read_slot(known, self._slots.get(id))
        return self._read[id]

    def is_set(self, key: AnyKey) -> bool:
        """True when a value is stored; False too for a key the graph does not have."""
        known = self._keys.get(key.id)
        return known is not None and (known is key or known == key) and key.id in self._slots

    def items(self) -> Iterable[tuple[str, Any]]:
        """Key id and value of everything stored, in the order of the graph's keys."""
        return [(id, self[key]) for id, key in self._keys.items() if id in self._slots]

    def __repr__(self) -> str:
        return f"ThreadState({dict(self.items())!r})"


class Write(NamedTuple):
    """One checked operation on a key: an update as JSON text and as a value of its own, or a removal (`data` is None)."""

    key: str
    data: bytes | None
    value: Any = None


class Applied:
    """New slots, the operations that bring a store there, and where updates went that are list items now.

    `placed` maps the index of a write to the index of the item it became; `added` lists (index, JSON text) of a key's new items.
    """

    __slots__ = ("added", "patch", "placed", "slots")

    def __init__(self, slots: dict[str, Slot]) -> None:
        self.slots = slots
        self.patch: list[PatchOp] = []
        self.placed: dict[int, int] = {}
        self.added: dict[str, list[tuple[int, bytes]]] = {}


def apply_writes(keys: Mapping[str, AnyKey], slots: Slots, writes: Sequence[Write]) -> Applied:
    """Apply the writes in order (R3.4). Raises: StateUpdateFailed naming the key whose reduce rejected, and then nothing has changed."""
    applied = Applied(dict(slots))
    by_key: dict[str, list[int]] = {}
    for index, write in enumerate(writes):
        id = write.key
        if id in by_key:
            by_key[id].append(index)
        else:
            by_key[id] = [index]
    for id, own in by_key.items():
        key = keys[id]
        if key.replaces:
            _replace(key, writes[own[-1]], applied)
        elif key.appends:
            _append(key, own, writes, applied)
        else:
            _reduce(key, [writes[index] for index in own], applied)
    return applied


def _append(key: AnyKey, own: list[int], writes: Sequence[Write], applied: Applied) -> None:
    before = applied.slots.get(key.id)
    shared = key.item is not None and key.item.shareable
    items: list[Any] = list(before.items) if isinstance(before, ListSlot) else []
    length, new = len(items), 0
    stored = before is not None
    texts: list[bytes] = []
    for index in own:
        write = writes[index]
        if write.data is None:
            items, texts, length, new = [], [], 0, 0
            if stored:
                applied.patch.append(Unset(SECTION, key.id))
            stored = False
            before = None
            for earlier in own:
                applied.placed.pop(earlier, None)
            continue
        applied.placed[index] = length + new
        items.append(write.value if shared else write.data)
        texts.append(write.data)
        new += 1
    if texts:
        applied.slots[key.id] = ListSlot(items, shared)
        applied.patch.append(Append(SECTION, key.id, tuple(texts)))
    elif before is None:
        applied.slots.pop(key.id, None)


def _replace(key: AnyKey, last: Write, applied: Applied) -> None:
    """The last operation wins; its text is the value's text."""
    before = applied.slots.get(key.id)
    data = last.data
    if data is None:
        if before is not None:
            del applied.slots[key.id]
            applied.patch.append(Unset(SECTION, key.id))
    elif not isinstance(before, ValueSlot) or before.data != data:
        applied.slots[key.id] = ValueSlot(data, last.value if key.codec.shareable else _MISSING)
        applied.patch.append(Set(SECTION, key.id, data))


def _reduce(key: AnyKey, writes: list[Write], applied: Applied) -> None:
    before = applied.slots.get(key.id)
    given = read_slot(key, before)
    current: Any = given
    present = before is not None
    for write in writes:
        if write.data is None:
            current, present = key.initial(), False
            continue
        try:
            current = key.reduce(current, write.value)
        except Exception as error:
            raise StateUpdateFailed(key=key.id, cause=error) from error
        present = True
    if not present:
        if before is not None:
            del applied.slots[key.id]
            applied.patch.append(Unset(SECTION, key.id))
        return
    try:
        if key.item is not None:
            _store_list(key, before, current, applied)
        else:
            data, value = key.codec.settle(current)
            if isinstance(before, ValueSlot) and before.data == data:
                return
            applied.slots[key.id] = ValueSlot(data, value if key.codec.shareable else _MISSING)
            applied.patch.append(Set(SECTION, key.id, data))
    except EncodeError as error:
        raise StateUpdateFailed(key=key.id, cause=error) from error


def _store_list(key: AnyKey, before: Slot | None, current: Any, applied: Applied) -> None:
    """Store a list by what changed in it: items of the old one that are still in their place are not written again (D17)."""
    item = key.item
    if item is None or not isinstance(current, list):
        raise EncodeError(problems=[f"reduce returned {type(current).__name__}, not a list"], what=f"a value for {key.codec.named}")
    new = cast(list[Any], current)
    old: list[Any] | None = before.items if isinstance(before, ListSlot) else None
    base = old or []
    shared = item.shareable
    texts: list[bytes] = []
    if not shared:
        texts = [item.encode(one) for one in new]
        changed = [index for index in range(min(len(base), len(texts))) if base[index] != texts[index]]
        stored: list[Any] = texts
    else:
        common = min(len(base), len(new))
        same = all(map(operator.is_, base, new))
        changed = [] if same else [index for index in range(common) if base[index] is not new[index]]
        stored = list(new)
    if len(changed) * 2 > len(base):  # most of it is new: write the rest from the first change on
        first = changed[0]
        kept, rewritten = first, changed[:0]
    else:
        kept, rewritten = min(len(base), len(new)), changed
    patch: list[PatchOp] = []
    added = applied.added.setdefault(key.id, [])

    def text_of(index: int) -> bytes:
        if shared:
            data, stored[index] = item.settle(new[index])
        else:
            data = texts[index]
        added.append((index, data))
        return data

    patch.extend(Replace(SECTION, key.id, index, text_of(index)) for index in rewritten)
    if old is not None and kept < len(base):
        patch.append(Truncate(SECTION, key.id, kept))
    tail = tuple(text_of(index) for index in range(kept, len(new)))
    if tail or old is None:
        patch.append(Append(SECTION, key.id, tail))
    applied.slots[key.id] = ListSlot(stored, shared)
    applied.patch.extend(patch)

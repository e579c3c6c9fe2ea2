"""A thread's values: the immutable store behind an execution, the view a reader gets, and how updates are applied (R1.17, R1.18).

Nothing a reader does to a value it was given reaches the committed one (STA-08): frozen values are shared, everything else is
decoded anew for each view.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, final

from msgspec import Struct
from pydantic import ValidationError

from ..checkpoint import Append, PatchOp, Replace, Set, Truncate, Unset, Value
from ..errors import DecodeError, EncodeError, StateUpdateFailed, UnknownStateKey
from ._codec import Codec
from ._exact import FROZEN
from ._key import StateKey

A = TypeVar("A")
AnyKey: TypeAlias = StateKey[Any, Any]
_MISSING: Final = object()
SECTION: Final = "state"


@final
class ValueSlot(Value, frozen=True, gc=True):
    """One stored value: its JSON text, and the value itself where it may be shared."""

    data: bytes
    shared: Any = _MISSING


@final
class ListSlot(Value, frozen=True, gc=True):
    """A stored list: the items themselves where they may be shared, else their JSON texts."""

    items: list[Any]
    shared: bool


Slot: TypeAlias = ValueSlot | ListSlot
Slots: TypeAlias = Mapping[str, Slot]


def slot_of(key: AnyKey, data: bytes | list[bytes]) -> Slot:
    """The slot of a stored entry, decoded where it will be shared. Raises: DecodeError."""
    if isinstance(data, list):
        if key.item is not None and key.item.shareable:
            return ListSlot(_items(key, key.item, data), True)
        key.codec.decode(_joined(data))  # as each reader will
        return ListSlot(data, False)
    value = key.codec.decode(data)
    return ValueSlot(data, value if key.codec.shareable else _MISSING)


def _items(key: AnyKey, item: Codec[Any], texts: list[bytes]) -> list[Any]:
    """A stored list decoded, item by item: one text of it all would be as large as the thread is long.

    Raises: DecodeError naming each fault by its place in the list.
    """
    try:
        return item.load_each(texts)
    except ValidationError:
        key.codec.decode(_joined(texts))
        raise DecodeError(problems=["an item that was stored is no value by itself"], what=f"a value for {key.codec.named}") from None


def _joined(texts: list[bytes]) -> bytes:
    return b"[" + b",".join(texts) + b"]"


def entry_of(key: AnyKey, slot: Slot) -> bytes | list[bytes]:
    """What is stored of a slot: one JSON text, or one per item."""
    if type(slot) is ValueSlot:
        return slot.data
    if not slot.shared or key.item is None:
        return list(slot.items)
    dump = key.item.dump
    return [dump(item) for item in slot.items]


def read_slot(key: AnyKey, slot: Slot) -> Any:
    """A value for one reader."""
    if type(slot) is ValueSlot:
        return key.codec.decode(slot.data) if slot.shared is _MISSING else slot.shared
    if slot.shared:
        return list(slot.items)
    return key.codec.decode(_joined(slot.items))


class ThreadState(Struct, eq=False):
    """A read-only snapshot of a thread's values (R1.17)."""

    _keys: Mapping[str, AnyKey]
    _slots: Slots
    _read: dict[str, Any] = {}

    def __getitem__(self, key: StateKey[A, Any]) -> A:
        """The stored value, or the key's initial one. Raises: UnknownStateKey for a key the graph does not have."""
        id, keys, slots, read = key.id, self._keys, self._slots, self._read
        if id not in keys:
            raise UnknownStateKey(key=id)
        known = keys[id]
        if known is not key and known != key:
            raise UnknownStateKey(key=id)
        if id in read:
            return read[id]
        slot = slots[id] if id in slots else None  # noqa: SIM401 - as in _replace
        if type(slot) is ValueSlot and slot.shared is not _MISSING:
            return slot.shared
        value = read[id] = known.initial() if slot is None else read_slot(known, slot)
        return value

    def is_set(self, key: AnyKey) -> bool:
        """True when a value is stored; False too for a key the graph does not have."""
        id, keys = key.id, self._keys
        return id in self._slots and id in keys and (keys[id] is key or keys[id] == key)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Key id and value of everything stored, in the order of the graph's keys."""
        return [(id, self[key]) for id, key in self._keys.items() if id in self._slots]

    def __repr__(self) -> str:
        return f"ThreadState({dict(self.items())!r})"


class Write(Value, frozen=True, gc=True):
    """One checked operation on a key: an update as JSON text and as a value of its own, or a removal (`data` is None)."""

    key: str
    data: bytes | None
    value: Any = None


class Applied(Struct, eq=False):
    """New slots, the operations that bring a store there, and where updates went that are list items now.

    `placed` maps the index of a write to the index of the item it became; `added` maps a key to its new items' texts by index.
    """

    slots: dict[str, Slot]
    patch: list[PatchOp] = []
    placed: dict[int, int] = {}
    added: dict[str, Mapping[int, bytes]] = {}


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
            _reduce(key, own, writes, applied)
    return applied


def _append(key: AnyKey, own: list[int], writes: Sequence[Write], applied: Applied) -> None:
    before = applied.slots.get(key.id)
    shared = key.item is not None and key.item.shareable
    items: list[Any] = list(before.items) if type(before) is ListSlot else []
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
    id, data, slots = key.id, last.data, applied.slots
    before = slots[id] if id in slots else None  # noqa: SIM401 - a call less, many times a turn
    if data is None:
        if before is not None:
            del slots[id]
            applied.patch.append(Unset(SECTION, id))
    elif type(before) is not ValueSlot or before.data != data:
        slots[id] = ValueSlot(data, last.value if key.codec.shareable else _MISSING)
        applied.patch.append(Set(SECTION, id, data))


def _reduce(key: AnyKey, own: list[int], writes: Sequence[Write], applied: Applied) -> None:
    id, slots = key.id, applied.slots
    before = slots[id] if id in slots else None  # noqa: SIM401 - as in _replace
    present = before is not None
    current: Any = _MISSING
    for index in own:
        write = writes[index]
        if write.data is None:
            current, present = _MISSING, False
            continue
        if current is _MISSING:
            current = read_slot(key, before) if before is not None and present else key.initial()
        try:
            current = key.reduce(current, write.value)
        except Exception as error:
            raise StateUpdateFailed(key=id, cause=error) from error
        present = True
    if not present:
        if before is not None:
            del slots[id]
            applied.patch.append(Unset(SECTION, id))
        return
    try:
        if key.item is not None:
            _store_list(key, key.item, before, current, applied)
        else:
            data, value = key.codec.settle(current, kept=FROZEN)
            if type(before) is ValueSlot and before.data == data:
                return
            slots[id] = ValueSlot(data, value if key.codec.shareable else _MISSING)
            applied.patch.append(Set(SECTION, id, data))
    except EncodeError as error:
        raise StateUpdateFailed(key=id, cause=error) from error


def _store_list(key: AnyKey, item: Codec[Any], before: Slot | None, current: Any, applied: Applied) -> None:
    """Store a list by what changed in it: items of the old one that are still in their place are not written again (D17)."""
    if type(current) is not list and not isinstance(current, list):
        raise EncodeError(problems=[f"reduce returned {type(current).__name__}, not a list"], what=f"a value for {key.codec.named}")
    shared = item.shareable
    new: list[Any] = current  # pyright: ignore[reportUnknownVariableType]  # of anything
    if not shared:
        new = [item.encode(one) for one in new]
    old: list[Any] = before.items if type(before) is ListSlot else []
    before_length, length = len(old), len(new)
    kept, rewritten = before_length, ()
    if before_length:
        same = operator.is_ if shared else operator.eq
        if length < before_length or not all(map(same, old, new)):
            kept, rewritten = _unchanged(old, new, same)
    stored = [*new]
    texts: dict[int, bytes] = {}
    for index in (*rewritten, *range(kept, length)):
        if shared:
            texts[index], stored[index] = item.settle(new[index], kept=FROZEN)
        else:
            texts[index] = new[index]
    id, patch = key.id, applied.patch
    for index in rewritten:
        patch.append(Replace(SECTION, id, index, texts[index]))
    if kept < before_length:
        patch.append(Truncate(SECTION, id, kept))
    if kept < length or type(before) is not ListSlot:
        items = (*texts.values(),)
        patch.append(Append(SECTION, id, items[len(rewritten) :] if rewritten else items))
    applied.added[id] = texts
    applied.slots[id] = ListSlot(stored, shared)


def _unchanged(old: list[Any], new: list[Any], same: Callable[[Any, Any], bool]) -> tuple[int, tuple[int, ...]]:
    """Of a list that did not just grow: how many of the old items stay, and which of them are written again in place; the rest is
    closed and written anew."""
    common = min(len(old), len(new))
    changed = tuple(index for index in range(common) if not same(old[index], new[index]))
    if len(changed) * 2 > len(old):  # most of it is new: write the rest from the first change on
        return changed[0], ()
    return common, changed

"""JSON values that cannot be changed in place, so that one message can be shared by every reader (D12, D17)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn, TypeAlias, cast

import msgspec.json

from ..errors import EncodeError

Json: TypeAlias = Any
"""null, a boolean, a number, a string, a list of these, or a dict from string to these."""


def _refuse(*_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError("this JSON value is read-only; make a changed copy with dict(...) or list(...)")


class FrozenDict(dict[str, Json]):
    """A JSON object that refuses every change. `dict(it)` makes a copy of its first level that may be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # narrowed on purpose
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # narrowed on purpose

    def __copy__(self) -> FrozenDict:
        return self

    def __deepcopy__(self, memo: object) -> dict[str, Json]:
        return cast(dict[str, Json], thaw(self))

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Json]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Json]):
    """A JSON array that refuses every change. `list(it)` makes a copy of its first level that may be changed."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # narrowed on purpose
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]  # narrowed on purpose

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: object) -> list[Json]:
        return cast(list[Json], thaw(self))

    def __reduce__(self) -> tuple[type[FrozenList], tuple[list[Json]]]:
        return FrozenList, (list(self),)


def freeze(value: object) -> Json:
    """Copy a JSON value into a read-only one; a value that is frozen already comes back as it is.

    Raises: EncodeError for anything that has no JSON form, naming where it is.
    """
    return value if type(value) in _FROZEN else _freeze(value, "$")


_FROZEN = {str, bool, int, type(None), FrozenDict, FrozenList}


def _freeze(value: object, path: str) -> Json:
    given: Any = value
    kind = type(value)
    if kind in _FROZEN:
        return value
    if kind is dict or isinstance(value, Mapping):
        frozen: dict[str, Json] = {}
        for name, item in given.items():
            if type(name) is not str:
                if not isinstance(name, str):
                    raise EncodeError(problems=[f"{path}: the key {name!r} is not a string"])
                name = str(name)
            frozen[name] = item if type(item) in _FROZEN else _freeze(item, f"{path}.{name}")
        return FrozenDict(frozen)
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        raise EncodeError(problems=[f"{path}: {value!r} has no JSON form"])
    if isinstance(value, list | tuple):
        return FrozenList([item if type(item) in _FROZEN else _freeze(item, f"{path}[{at}]") for at, item in enumerate(given)])
    # a subclass, such as a member of a StrEnum: keep the plain value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    raise EncodeError(problems=[f"{path}: {type(value).__name__} has no JSON form"])


def thaw(value: Json) -> Json:
    """A copy of a JSON value made of plain dicts and lists, which may be changed."""
    if isinstance(value, dict):
        return {name: thaw(item) for name, item in cast(dict[str, Json], value).items()}
    if isinstance(value, list):
        return [thaw(item) for item in cast(list[Json], value)]
    return value


def json_bytes(value: Json) -> bytes:
    """Compact JSON text for a program to read: `compact` in a tenth of its time, of whose text numbers that are not whole may differ."""
    return _json_bytes(value)


def compact(value: Json) -> str:
    """Compact JSON text: no spaces, text as it is, no NaN."""
    return _compact(value)


_json_bytes = msgspec.json.Encoder().encode
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode

"""Which values may be shared between readers because nobody can change them in place (D17).

Decided from the declared type, once. Inside a frozen class a field declared `Any`, `Mapping`, `Sequence` or `Set` is taken as
its author's promise that nothing changes it; a field declared `dict`, `list` or `set` is not.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import PurePath
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints
from uuid import UUID

from pydantic import BaseModel

_PLAIN = (str, int, float, bool, bytes, complex, Decimal, UUID, date, datetime, time, timedelta, PurePath, enum.Enum, types.NoneType)
_READ_ONLY: frozenset[object] = frozenset({Any, object, Mapping, Sequence, AbstractSet})


def is_shareable(declared: object) -> bool:
    """True when every value of the type is safe to hand to several readers."""
    try:
        return _decided(declared)
    except TypeError:  # an unhashable annotation
        return _shareable(declared, frozenset(), inside_frozen=False)


@lru_cache(maxsize=1024)
def _decided(declared: object) -> bool:
    return _shareable(declared, frozenset(), inside_frozen=False)


def _shareable(declared: object, seen: frozenset[object], *, inside_frozen: bool) -> bool:
    if declared is None or declared is Ellipsis:
        return True
    origin = get_origin(declared)
    if origin is Annotated:
        return _shareable(get_args(declared)[0], seen, inside_frozen=inside_frozen)
    if origin is Literal:
        return True
    if inside_frozen and (declared in _READ_ONLY or origin in _READ_ONLY):
        return True
    if origin in (Union, types.UnionType, tuple, frozenset):
        return all(_shareable(argument, seen, inside_frozen=inside_frozen) for argument in get_args(declared))
    found: object = origin or declared
    if not isinstance(found, type):
        return False
    kind = cast(type[Any], found)
    if issubclass(kind, _PLAIN):
        return True
    if kind in seen:  # a type that contains itself is as shareable as the rest of it
        return True
    return _frozen_class(kind, seen | {kind})


def _frozen_class(kind: type[Any], seen: frozenset[object]) -> bool:
    if issubclass(kind, BaseModel):
        if not kind.model_config.get("frozen"):
            return False
        annotations = [field.annotation for field in kind.model_fields.values()]
    elif dataclasses.is_dataclass(kind):
        if not kind.__dataclass_params__.frozen:  # pyright: ignore[reportUnknownMemberType, reportAttributeAccessIssue]  # undocumented, stable since 3.7
            return False
        annotations = _hints(kind, [field.name for field in dataclasses.fields(kind)])
    elif issubclass(kind, tuple):
        named = cast(Any, kind)
        annotations = _hints(named, list(named._fields)) if hasattr(named, "_fields") else None
    else:
        return False
    return annotations is not None and all(_shareable(one, seen, inside_frozen=True) for one in annotations)


def _hints(kind: type[Any], names: list[str]) -> list[object] | None:
    """The resolved annotations of these fields; None when they cannot be resolved, and then nothing is shared."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except Exception:
        return None
    return [hints.get(name, list) for name in names]

"""Secrets in what a person answers in code, as the plain values that are sent (3.8.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, TypeAdapter

from ..errors import EncodeError


def bare(value: object) -> Any:
    """The value with the value of every secret in its place, where pydantic would write asterisks; itself where it holds none.

    Raises: EncodeError for secret bytes that are no text.
    """
    if not _holds(value, frozenset()):
        return value
    if isinstance(value, SecretStr | SecretBytes | Secret):
        return _text(cast(object, value.get_secret_value()))
    if isinstance(value, BaseModel):
        return bare(value.model_dump(by_alias=True, round_trip=True))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return bare(TypeAdapter[Any](type(value)).dump_python(value, by_alias=True, round_trip=True))
    if isinstance(value, Mapping):
        return {name: bare(item) for name, item in cast(Mapping[object, object], value).items()}
    return [bare(item) for item in cast("list[object]", value)]


def _text(value: object) -> Any:
    if not isinstance(value, bytes):
        return bare(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EncodeError(problems=["secret bytes that are no UTF-8 text have no JSON form"], what="the answer") from None


def _holds(value: object, seen: frozenset[int]) -> bool:
    if isinstance(value, SecretStr | SecretBytes | Secret):
        return True
    if isinstance(value, str | bytes | int | float | None) or id(value) in seen:
        return False
    inside = seen | {id(value)}
    if isinstance(value, BaseModel):
        return any(_holds(item, inside) for item in (*value.__dict__.values(), *(value.__pydantic_extra__ or {}).values()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return any(_holds(getattr(value, field.name, None), inside) for field in dataclasses.fields(value))
    if isinstance(value, Mapping):
        return any(_holds(item, inside) for item in cast(Mapping[object, object], value).values())
    if isinstance(value, list | tuple | set | frozenset):
        return any(_holds(item, inside) for item in cast("list[object]", value))
    return False

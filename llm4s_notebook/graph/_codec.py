"""Values to JSON text and back: pydantic in strict JSON mode (D4), schema versions with one-step migrations (R1.38)."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar, cast

import msgspec.json
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import DecodeError, EncodeError
from ._exact import TEXT, WHOLE, Kinds, exact_kinds
from ._frozen import is_shareable

T = TypeVar("T")
Migrations = Mapping[int, Callable[[Any], Any]]
NULL = b"null"
_MOST_DIGITS = 4300  # of a number that Python reads
_FLAT = 100  # objects and arrays in a text: with fewer it cannot be too deep to be read
_write = msgspec.json.Encoder().encode  # of exact values only, where its text is pydantic's, in a fifth of the time
DEEPEST: Final = 180
"""How deep objects and arrays of a value may lie in each other: a record or a list around it, which is read with it, is a few deeper, and
what is more than 200 deep cannot be read."""
_DEEP: Final = 2 * DEEPEST  # bytes: a shorter text is not so deep
_TEXTS = re.compile(rb'"[^"]*"')  # of JSON without escaped quotation marks
_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes({*range(256)} - {*b"[]{}"})
_LONG_NUMBER = re.compile(rb"\d{4301}")
write_text: Callable[[str], bytes] = _write
"""A text as JSON. Raises: UnicodeEncodeError for one that is not Unicode; TypeError for one of a class of its own."""


def encode_json(value: object, what: str = "the value") -> bytes:
    """Any JSON value, model or dataclass as compact JSON text. Raises: EncodeError."""
    try:
        data = to_json(value, by_alias=True)
        if b"NaN" in data or b"Infinity" in data or data[_MOST_DIGITS:]:
            _check_numbers(data)
        return data
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        raise EncodeError(problems=[str(error)], what=what) from error


def _check_numbers(data: bytes) -> None:
    """Raises: ValueError for NaN and infinities, which are no JSON, and for a number too long to be read again."""
    if b"NaN" in data or b"Infinity" in data:  # perhaps only inside a text
        json.loads(data, parse_constant=_no_number)
    if len(data) > _MOST_DIGITS and _LONG_NUMBER.search(data) is not None:  # perhaps only inside a text
        from_json(data)


def check_depth(data: bytes) -> None:
    """Raises: ValueError for JSON text whose objects and arrays lie too deep in each other."""
    if len(data) <= _DEEP or data.count(b"{") + data.count(b"[") <= DEEPEST:
        return
    left = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    left = _TEXTS.sub(b"", left).translate(_AS_ARRAYS, _NO_BRACKETS)
    for _ in range(DEEPEST):
        left = left.replace(b"[]", b"")  # the innermost of all
        if not left:
            return
    raise ValueError(f"it is nested more than {DEEPEST} deep")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def decode_json(data: bytes) -> Any:
    """JSON text as plain Python data, the caller's own copy."""
    return from_json(data)


def plain(value: object, what: str = "the value") -> Any:
    """A plain JSON copy of a value, so that later changes to it have no effect (R1.29). Raises: EncodeError."""
    data = encode_json(value, what)
    try:
        return from_json(data)
    except ValueError as error:  # too deep
        raise EncodeError(problems=[str(error)], what=what) from error


def problems_of(error: ValidationError) -> list[str]:
    """One 'path: reason' line per fault."""
    lines: list[str] = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        path = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault["loc"])
        lines.append(f"{path}: {fault['msg']}")
    return lines


# NaN must show in the text, where it is refused; written as null it would be another value
_NUMBERS_AS_THEY_ARE = ConfigDict(ser_json_inf_nan="constants")


def _made(declared: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(declared, config=_NUMBERS_AS_THEY_ARE)
    except PydanticUserError:  # a model, dataclass or typed dict says itself how it is written
        return TypeAdapter(declared)


@lru_cache(maxsize=1024)
def _cached_adapter(declared: Any) -> tuple[TypeAdapter[Any], Kinds]:
    adapter = _made(declared)
    return adapter, exact_kinds(adapter.core_schema)


def adapter_of(declared: Any) -> tuple[TypeAdapter[Any], Kinds]:
    """The adapter of a type and the types of its exact values, made once."""
    try:
        return _cached_adapter(declared)
    except TypeError:  # an unhashable annotation
        return _cached_adapter.__wrapped__(declared)


class Codec(Generic[T]):
    """The JSON form of one declared type, with the schema version that is written beside it.

    `shareable` says whether a decoded value may be given to several readers (D17).
    """

    __slots__ = ("_dump", "_exact", "_load", "_plain", "adapter", "declared", "migrations", "shareable", "unit", "version")

    def __init__(self, declared: Any, *, version: int = 1, migrations: Migrations | None = None) -> None:
        self.declared = type(None) if declared is None else declared
        adapter, self._exact = adapter_of(self.declared)
        self._plain = {kind for kind, check in self._exact.items() if check is None}  # whose values are exact, each of them
        self.adapter = cast(TypeAdapter[T], adapter)
        self.version = version
        self.migrations: Migrations = dict(migrations or {})
        self.unit = self.declared is types.NoneType
        self.shareable = is_shareable(self.declared)
        self._dump = self.adapter.serializer.to_json  # the adapter's own methods are a Python call more, each time
        self._load = self.adapter.validator.validate_json

    def encode(self, value: T) -> bytes:
        """The value as compact JSON text that is certain to decode again. Raises: EncodeError."""
        return self.settle(value, kept=TEXT)[0]

    def encode_all(self, values: Sequence[T]) -> list[bytes]:
        """`encode` each of them. Raises: EncodeError."""
        if self._plain.issuperset(map(type, values)):
            try:
                texts = [*map(_write, values)]
                if texts and len(max(texts, key=len)) <= _MOST_DIGITS:
                    return texts
            except (ValueError, OverflowError):  # below, pydantic says which one, and what is wrong
                pass
        return [self.encode(value) for value in values]

    def settle(self, value: T, *, kept: int = WHOLE) -> tuple[bytes, T]:
        """The value's JSON text and the value as everybody will read it from there on. Raises: EncodeError.

        A value that is at least as exact as `kept` says is given back as it is. TEXT is for those who want the text alone, FROZEN
        for a value of which nobody else holds a part.
        """
        kind = type(value)
        if kind in self._exact:
            check = self._exact[kind]
            try:
                exact = WHOLE if check is None else check(value)
                if exact:
                    data = _write(value)
                    if not data[_MOST_DIGITS:] or _LONG_NUMBER.search(data) is None:
                        if exact == WHOLE or (exact >= kept and data.count(b"{") + data.count(b"[") < _FLAT):
                            return data, value
                        if data[_DEEP:]:
                            check_depth(data)
                        return data, self._load(data, strict=True)
            except (
                ValueError,
                OverflowError,
                RecursionError,
                AttributeError,
            ):  # such as half a surrogate pair: below, pydantic says what is wrong
                pass
        try:
            data = self._dump(value, by_alias=True, round_trip=True, warnings="error")
            if b"NaN" in data or b"Infinity" in data:
                _check_numbers(data)
            if data[_DEEP:]:
                check_depth(data)
            return data, self._load(data, strict=True)  # where a number too long to be read again is found
        except ValidationError as error:
            raise EncodeError(problems=problems_of(error), what=f"a value for {self.named}") from error
        except (PydanticSerializationError, ValueError, TypeError, RecursionError, AttributeError) as error:
            raise EncodeError(problems=[_first_line(error)], what=f"a value for {self.named}") from error

    def dump(self, value: T) -> bytes:
        """`encode` for a value that was decoded by this codec, unchecked."""
        return self._dump(value, by_alias=True, round_trip=True)

    def decode(self, data: bytes) -> T:
        """A fresh value. Raises: DecodeError."""
        try:
            return self._load(data, strict=True)
        except ValidationError as error:
            raise DecodeError(problems=problems_of(error), what=f"a value for {self.named}") from error

    def load(self, data: bytes) -> T:
        """`decode`, raising pydantic's own error with its structured faults."""
        return self._load(data, strict=True)

    def load_each(self, texts: Iterable[bytes]) -> list[T]:
        """Fresh values of many texts. Raises: pydantic's own error for the first that is none."""
        load = self._load
        return [load(text, strict=True) for text in texts]

    def upgrade(self, data: bytes, version: int) -> bytes:
        """JSON text written under `version` in the form of this codec's version (R1.38).

        Raises: DecodeError for a newer version, one below 1, a missing step, or a step that raises.
        """
        if version == self.version:
            return data
        if not isinstance(version, int) or isinstance(version, bool) or version < 1 or version > self.version:  # pyright: ignore[reportUnnecessaryIsInstance]  # read from a file
            raise DecodeError(
                problems=[f"schema version {version!r}; this graph reads 1 to {self.version}"], what=f"a value for {self.named}"
            )
        value = from_json(data)
        for step in range(version, self.version):
            migrate = self.migrations.get(step)
            if migrate is None:
                raise DecodeError(
                    problems=[f"no migration from schema version {step} to {step + 1} (stored under {version})"],
                    what=f"a value for {self.named}",
                )
            try:
                value = migrate(value)
            except Exception as error:
                raise DecodeError(
                    problems=[f"the migration from schema version {step} raised {type(error).__name__}: {error}"],
                    what=f"a value for {self.named}",
                ) from error
        return encode_json(value)

    @property
    def named(self) -> str:
        """The declared type, for a message."""
        return getattr(self.declared, "__name__", None) or str(self.declared).replace("typing.", "")


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:2]) or type(error).__name__

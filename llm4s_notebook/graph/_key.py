"""A merge rule as a tiny class: what a state key holds and how an update changes it (R1.13-R1.15)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, get_args, get_origin

from ..errors import ConfigError
from ._codec import Codec, Migrations, encode_json
from ._given import schema_problems, text_problem

A = TypeVar("A")
U = TypeVar("U")
T = TypeVar("T")
_NO_STEPS: Migrations = {}


class StateKey(Generic[A, U]):
    """One named value of a thread. Nodes change it only through `reduce`, which gets the current value and one update (R1.15).

    A value of type `list[…]` is stored item by item, so that a grown list costs its new items only (D17).
    `reduce` must not keep what it is given; it may raise, which fails the run with `StateUpdateFailed` (R1.19).
    Two keys are equal when id, JSON Schema of value and update, initial value and version are equal (D1).
    """

    __slots__ = (
        "_fingerprint",
        "_initial",
        "appends",
        "closing",
        "codec",
        "id",
        "initial_data",
        "item",
        "opening",
        "reduce",
        "replaces",
        "text",
        "update_codec",
        "version",
    )

    def __init__(
        self,
        id: str,
        value: type[A],
        update: type[U],
        *,
        initial: A,
        reduce: Callable[[A, U], A],
        version: int = 1,
        migrations: Migrations = _NO_STEPS,
    ) -> None:
        """Declare a key. `migrations[n]` makes JSON of version n + 1 from JSON of version n (R1.38).

        Raises: EncodeError when `initial` is not of the value's type; ConfigError for a version below 1, and for anything else that is
        not of its kind.
        """
        problem = text_problem("a state key's id", id)
        if problem is not None:
            raise ConfigError(field="id", problems=[problem])
        problems = schema_problems(version, migrations)
        if problems:
            raise ConfigError(field="version", problems=[f"state key '{id}': {problem}" for problem in problems])
        if not callable(reduce):
            raise ConfigError(field="reduce", problems=[f"state key '{id}': {reduce!r} cannot be called"])
        self.id = id
        self.text = encode_json(id)
        self.opening = b'{"key":%b,"value":' % self.text
        self.closing = b',"version":%d}' % version if version != 1 else b"}"
        """What stands before and after the text of an update in a record of it."""
        self.version = version
        """The schema version written beside a stored value."""
        try:
            self.codec: Codec[A] = Codec(value, version=version, migrations=migrations)
            self.update_codec: Codec[U] = Codec(update, version=version, migrations=migrations)
        except Exception as error:
            first = (str(error).splitlines() or [type(error).__name__])[0]
            raise ConfigError(field="value", problems=[f"state key '{id}': pydantic cannot handle its type: {first}"]) from error
        self.reduce = reduce
        self.appends = False
        self.replaces = False
        self.item: Codec[Any] | None = None
        if get_origin(value) is list or value is list:
            self.item = Codec((get_args(value) or (Any,))[0], version=version)
        self.initial_data, self._initial = self.codec.settle(initial)
        self._fingerprint: str | None = None

    @classmethod
    def replace(cls, id: str, value: type[T], *, initial: T, version: int = 1, migrations: Migrations = _NO_STEPS) -> StateKey[T, T]:
        """A key whose update becomes its value; the last one applied wins (R1.14)."""
        key: StateKey[T, T] = StateKey(id, value, value, initial=initial, reduce=_replaced, version=version, migrations=migrations)
        key.replaces = key.item is None
        return key

    @classmethod
    def appending(cls, id: str, item: type[T], *, version: int = 1, migrations: Migrations = _NO_STEPS) -> StateKey[list[T], T]:
        """A key that starts as an empty list; each update is added at the end (R1.14)."""
        key: StateKey[list[T], T] = StateKey(id, list[item], item, initial=[], reduce=_appended, version=version, migrations=migrations)
        key.appends = True
        return key

    @property
    def fingerprint(self) -> str:
        """SHA-256 hex over what makes two keys equal (D1)."""
        if self._fingerprint is None:
            parts = [self.id, _schema(self.codec), _schema(self.update_codec), self.initial_data.decode(), self.version]
            self._fingerprint = hashlib.sha256(encode_json(parts)).hexdigest()
        return self._fingerprint

    def initial(self) -> A:
        """The initial value; a fresh one where a reader could change it."""
        if self.codec.shareable:
            return self._initial
        return cast(A, []) if self.item is not None and self.initial_data == b"[]" else self.codec.decode(self.initial_data)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, StateKey) and self.id == other.id and self.fingerprint == other.fingerprint  # pyright: ignore[reportUnknownMemberType]  # any key

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"StateKey({self.id!r}: {self.codec.named})"


def _replaced(_current: T, update: T) -> T:
    return update


def _appended(current: list[T], update: T) -> list[T]:
    return [*current, update]


def _schema(codec: Codec[Any]) -> Any:
    """The type's JSON Schema, or its name where pydantic has no schema for it."""
    try:
        return codec.adapter.json_schema()
    except Exception:
        return codec.named

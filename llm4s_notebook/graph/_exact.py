"""Which values are certain to be what their JSON text decodes to: they are written, and not read back to be sure (D4, D17).

That is told once from the schema that pydantic made of the declared type. A value is exact when it is a text, a whole number, a
boolean or null, or a tuple or a frozen dataclass with slots that holds nothing else, each of the very type declared, and pydantic
checks and changes nothing more: no constraint, no alias, no validator or serializer of a user's. Nobody can change such a value,
and two readers cannot tell it from what its text gives. One that holds JSON objects or arrays besides is exact in its text only:
its readers are given what that decodes to - unless these are frozen, and nobody else holds a part of it. Of everything else nothing
is assumed.
"""

from __future__ import annotations

import dataclasses
import keyword
import types
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from ..models import FrozenDict, FrozenList

INEXACT: Final = 0
TEXT: Final = 1
"""Its text is certain; what it decodes to is another object."""
FROZEN: Final = 2
"""Its text is certain; what it decodes to is another object, and equal; nothing of either is changed but by force."""
WHOLE: Final = 3
"""It is what its text decodes to."""

Check: TypeAlias = Callable[[Any], int]
Kinds: TypeAlias = "dict[type[Any], Check | None]"
"""The types that exact values of a place have, with what tells how exact a value of it is; None for those that are WHOLE."""

_IGNORED = {"type", "ref", "metadata"}
_FIELD = {"type", "name", "schema", "metadata", "init", "kw_only"}
_CLASS = _IGNORED | {"cls", "fields", "schema", "config", "slots", "frozen", "post_init", "cls_name", "generic_origin"}
_DEFAULT = {"schema", "default", "default_factory", "default_factory_takes_data"}
_CONFIG = {"title", "ser_json_inf_nan"}  # the first is for the JSON Schema, the second for numbers, none of which are here


def exact_kinds(schema: Any) -> Kinds:
    """The types of the exact values of a pydantic schema; empty where none is certain."""
    return _Reading().of(schema)


class _Reading:
    """One walk through a schema, which may refer to parts of itself."""

    def __init__(self) -> None:
        self._defined: dict[str, Any] = {}
        self._open: set[str] = set()

    def of(self, schema: Mapping[str, Any]) -> Kinds:
        own = schema.keys() - _IGNORED
        match schema["type"]:
            case "str" if not own:
                return {str: None}
            case "bool" if not own:
                return {bool: None}
            case "none" if not own:
                return {types.NoneType: None}
            case "int" if not own:
                return {int: None}
            case "any" if not own:
                return dict(_JSON)
            case "literal" if own == {"expected"} and all(type(one) is str for one in schema["expected"]):
                return {str: _one_of(schema["expected"])}
            case "default" if own <= _DEFAULT:
                return self.of(schema["schema"])
            case "nullable" if own == {"schema"}:
                return {**self.of(schema["schema"]), types.NoneType: None}
            case "tuple" if own == {"items_schema", "variadic_item_index"} and len(schema["items_schema"]) == 1:
                return {tuple: _all_exact(self.of(schema["items_schema"][0]))}
            case "dict" if own <= {"keys_schema", "values_schema", "strict"} and self.of(schema["keys_schema"]) == {str: None}:
                check = _object_exact(self.of(schema["values_schema"]))
                return {dict: check, FrozenDict: check}
            case "tagged-union" if own <= {"choices", "discriminator", "strict", "from_attributes"}:
                return self._choices(schema)
            case "dataclass" if schema.keys() <= _CLASS and schema.get("config", {}).keys() <= _CONFIG:
                return self._dataclass(schema)
            case "definitions" if own == {"schema", "definitions"}:
                self._defined.update({one["ref"]: one for one in schema["definitions"]})
                return self.of(schema["schema"])
            case "definition-ref" if own == {"schema_ref"}:
                return self._referred(schema["schema_ref"])
            case _:
                return {}

    def _referred(self, name: str) -> Kinds:
        if name in self._open or name not in self._defined:  # a type that contains itself
            return {}
        self._open.add(name)
        found = self.of(self._defined[name])
        self._open.discard(name)
        return found

    def _choices(self, schema: Mapping[str, Any]) -> Kinds:
        """The members of a union that a property tells apart; each is a class of its own, and its tag a literal of it."""
        members = [self.of(choice) for choice in schema["choices"].values()]
        kinds = {kind: check for member in members for kind, check in member.items()}
        tells = isinstance(schema["discriminator"], str) and len(kinds) == sum(map(len, members))
        return kinds if tells and all(hasattr(kind, "__dataclass_fields__") for kind in kinds) else {}

    def _dataclass(self, schema: Mapping[str, Any]) -> Kinds:
        kind = cast("type[Any]", schema["cls"])
        inner = schema["schema"]
        fields = inner.get("fields", ())
        names = [field["name"] for field in fields]
        plain = (
            inner["type"] == "dataclass-args"
            and not inner.get("computed_fields")
            and all(field.keys() <= _FIELD and field.get("init", True) for field in fields)
            and names == [field.name for field in dataclasses.fields(kind)]
            and not any(map(keyword.iskeyword, names))  # they are written into code
        )
        lasting = kind.__dataclass_params__.frozen and kind.__dictoffset__ == 0 and sorted(_slots(kind)) == sorted(names)
        unchanged = not hasattr(kind, "__post_init__") or kind.__dict__.get("exact_once_made") is True
        if not (fields and plain and lasting and unchanged):
            return {}
        return {kind: _fields_exact(names, [self.of(field["schema"]) for field in fields])}


def _slots(kind: type[Any]) -> list[str]:
    """Everything that an instance can hold, what its bases hold included."""
    own = [base.__dict__.get("__slots__", ()) for base in kind.__mro__]
    return [name for names in own for name in ([names] if isinstance(names, str) else names) if name != "__weakref__"]


def _one_of(words: Iterable[str]) -> Check:
    return cast("Check", dict.fromkeys(words, WHOLE).get)  # of another word it gives None, which is as good as INEXACT


def _all_exact(kinds: Kinds) -> Check:
    def check(items: tuple[Any, ...]) -> int:
        found = WHOLE
        for item in items:
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # of anything
            if kind not in kinds:
                return INEXACT
            deeper = kinds[kind]
            if deeper is not None and (inner := deeper(item)) != WHOLE:
                if not inner:
                    return INEXACT
                if inner < found:
                    found = inner
        return found

    return check


# The two pieces of code that `_fields_exact` puts together: the second does what `_all_exact` does with an item.
_BY_TYPE = """
    if type(value.{name}) not in kinds{at}:
        return INEXACT
"""
_AND_DEEPER = """
    item = value.{name}
    deeper = kinds{at}[type(item)]
    if deeper is not None:
        inner = deeper(item)
        if inner != WHOLE:
            if not inner:
                return INEXACT
            if inner < found:
                found = inner
"""


def _fields_exact(names: list[str], places: list[Kinds]) -> Check:
    """The check of a dataclass, written out as Python, field by field, and compiled, as `dataclass` itself makes `__init__`.

    A loop over the fields takes three times as long, and this runs dozens of times a turn. Nothing but field names gets into that code,
    and each is the name of a slot, for which Python takes identifiers only, and no keyword.
    """
    lines = ["def check(value):", "    found = WHOLE"]
    given: dict[str, Any] = {"INEXACT": INEXACT, "WHOLE": WHOLE}
    for at, (name, kinds) in enumerate(zip(names, places, strict=True)):
        given[f"kinds{at}"] = kinds
        lines.append(_BY_TYPE.format(name=name, at=at))
        if any(kinds.values()):  # else such a field is exact by its type alone
            lines.append(_AND_DEEPER.format(name=name, at=at))
    exec(_compiled("\n".join([*lines, "    return found"])), given)
    return cast("Check", given["check"])


@lru_cache(maxsize=256)  # a class is checked anew in each schema it is a part of, always with the same code
def _compiled(source: str) -> types.CodeType:
    return compile(source, "<the check of a dataclass>", "exec")


def _object_exact(kinds: Kinds) -> Check:
    def check(value: dict[Any, Any]) -> int:
        found = FROZEN if type(value) is FrozenDict else TEXT
        for name, item in value.items():
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]  # of anything
            if type(name) is not str or kind not in kinds:
                return INEXACT
            deeper = kinds[kind]
            if deeper is not None and (inner := deeper(item)) < found:
                if not inner:
                    return INEXACT
                found = inner
        return found

    return check


_JSON: Kinds = {str: None, bool: None, types.NoneType: None, int: None}
"""Plain JSON, but for numbers that are not whole: two libraries do not write all of them in the same way."""
_object, _items = _object_exact(_JSON), _all_exact(_JSON)


def _array(items: Any) -> int:
    return min(_items(items), FROZEN if type(items) is FrozenList else TEXT)


_JSON.update({dict: _object, FrozenDict: _object, list: _array, FrozenList: _array})

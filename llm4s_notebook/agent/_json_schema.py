"""The JSON Schema subset that a tool given as raw schema may use: checked when it is built, and applied to calls (3.3.5, 3.3.6)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeGuard, cast

from ..models import Json, compact
from ._argument_faults import ArgumentFault
from ._bounds import broken_bounds
from ._schema_place import json_type

Path = tuple[str | int, ...]
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in cast(list[Json], value))


def _is_types(value: Json) -> bool:
    many = cast(list[Json], value) if isinstance(value, list) else [value]
    return bool(many) and all(one in _TYPES for one in many if isinstance(one, str)) and all(isinstance(one, str) for one in many)


_KEYWORDS: Mapping[str, tuple[Callable[[Json], bool], str]] = {
    "type": (_is_types, "one or several JSON type names"),
    "description": (lambda value: isinstance(value, str), "a string"),
    "properties": (lambda value: isinstance(value, dict), "an object of schemas"),
    "required": (_is_names, "a list of names"),
    "additionalProperties": (lambda value: isinstance(value, bool), "true or false"),
    "enum": (lambda value: isinstance(value, list) and bool(cast(list[Json], value)), "a list of values"),
    "minLength": (_is_count, "a count"),
    "maxLength": (_is_count, "a count"),
    "minimum": (_is_number, "a number"),
    "maximum": (_is_number, "a number"),
    "exclusiveMinimum": (_is_number, "a number"),
    "exclusiveMaximum": (_is_number, "a number"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above zero"),
    "items": (lambda value: isinstance(value, dict), "a schema"),
    "minItems": (_is_count, "a count"),
    "maxItems": (_is_count, "a count"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
}


def _is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict)


def schema_problems(schema: Json, path: str = "$") -> list[str]:
    """Every keyword that `violations` could not check, or whose value is malformed; such a schema must not be used."""
    if not _is_object(schema):
        return [f"{path}: a schema is an object, not {json_type(schema)}"]
    problems: list[str] = []
    for keyword, value in schema.items():
        known = _KEYWORDS.get(keyword)
        if known is None:
            problems.append(f"{path}: keyword '{keyword}' is not supported")
        elif not known[0](value):
            problems.append(f"{path}: '{keyword}' must be {known[1]}")
    properties = schema.get("properties")
    if _is_object(properties):
        for name, inner in properties.items():
            problems.extend(schema_problems(inner, f"{path}.{name}"))
    if _is_object(items := schema.get("items")):
        problems.extend(schema_problems(items, f"{path}[]"))
    return problems


def violations(schema: Mapping[str, Json], value: Json) -> list[ArgumentFault]:
    """Every violation: missing, then extra, then nested in schema order; a type mismatch reports only itself."""
    return list(_violations(schema, value, ()))


def _violations(schema: Mapping[str, Json], value: Json, path: Path) -> Iterator[ArgumentFault]:
    wanted = schema.get("type")
    types = [wanted] if isinstance(wanted, str) else cast(list[str], wanted or [])
    if types and not any(_is_of(name, value) for name in types):
        yield ArgumentFault(path, f"expected {' or '.join(types)}, got {json_type(value)}")
        return
    if "enum" in schema and not any(_same(value, allowed) for allowed in schema["enum"]):
        yield ArgumentFault(path, f"{compact(value)} is not one of {compact(schema['enum'])}")
    if isinstance(value, str):
        yield from (ArgumentFault(path, reason) for reason in _string_violations(schema, value))
    elif _is_number(value):
        yield from (ArgumentFault(path, reason) for reason in broken_bounds(schema, value))
    elif isinstance(value, list):
        yield from _array_violations(schema, cast(list[Json], value), path)
    elif _is_object(value):
        yield from _object_violations(schema, value, path)


def _is_of(name: str, value: Json) -> bool:
    given = json_type(value)
    return (
        given == name
        or (name == "number" and given == "integer")
        or (name == "integer" and given == "number" and float(value).is_integer())
    )


def _same(a: Json, b: Json) -> bool:
    """JSON equality: 1 is 1.0, and true is not 1."""
    return _key(a) == _key(b)


def _key(value: Json) -> Hashable:
    """Equal for equal JSON values, and for no others."""
    if isinstance(value, list):
        return ("list", *(_key(item) for item in cast(list[Json], value)))
    if _is_object(value):
        return ("object", frozenset((name, _key(item)) for name, item in value.items()))
    return (isinstance(value, bool), value)


def _string_violations(schema: Mapping[str, Json], value: str) -> list[str]:
    found: list[str] = []
    if len(value) < schema.get("minLength", 0):
        found.append(f"length {len(value)} is below minLength {schema['minLength']}")
    if "maxLength" in schema and len(value) > schema["maxLength"]:
        found.append(f"length {len(value)} is above maxLength {schema['maxLength']}")
    return found


def _array_violations(schema: Mapping[str, Json], value: list[Json], path: Path) -> Iterator[ArgumentFault]:
    if len(value) < schema.get("minItems", 0):
        yield ArgumentFault(path, f"{len(value)} items is below minItems {schema['minItems']}")
    if "maxItems" in schema and len(value) > schema["maxItems"]:
        yield ArgumentFault(path, f"{len(value)} items is above maxItems {schema['maxItems']}")
    if schema.get("uniqueItems") and len({_key(item) for item in value}) < len(value):
        yield ArgumentFault(path, "items are not unique")
    if "items" in schema:
        for at, item in enumerate(value):
            yield from _violations(schema["items"], item, (*path, at))


def _object_violations(schema: Mapping[str, Json], value: dict[str, Json], path: Path) -> Iterator[ArgumentFault]:
    properties = cast(dict[str, Json], schema.get("properties", {}))
    for name in schema.get("required", []):
        if name not in value:
            yield ArgumentFault((*path, name), "required property missing")
    if not schema.get("additionalProperties", False):
        for name in value:
            if name not in properties:
                yield ArgumentFault((*path, name), "property not allowed")
    for name, inner in properties.items():
        if name in value:
            yield from _violations(inner, value[name], (*path, name))

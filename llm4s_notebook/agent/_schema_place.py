"""One place in the JSON Schema of a call's arguments, and what may stand there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from ..models import Json

Schema: TypeAlias = Mapping[str, Json]


def json_type(value: Json) -> str:
    """The JSON Schema name of a value's type."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def number_type(value: Json) -> str:
    """The JSON type; of a whole-valued float that of the integer it stands for (3.3.3)."""
    return "integer" if isinstance(value, float) and value.is_integer() else json_type(value)


def schemas_at(root: Schema, path: Sequence[str | int]) -> list[Schema]:
    """The schema of a place, or the members of the union it is, references followed; none where the root does not know the place."""
    at: Json = root
    for step in path:
        at = None if at is None else _inner(root, at, step)
    return [] if at is None else _members(root, at)


def choices_in(schema: Schema) -> list[Json]:
    """The values a schema of no union lists; none where it lists none."""
    return [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]


def takes(schema: Schema, given: bool | float) -> bool:
    """Whether a schema of no union takes this very boolean or number: to Python `True` is 1."""
    if choices := choices_in(schema):
        return any(choice == given and isinstance(choice, bool) is isinstance(given, bool) for choice in choices)
    return schema.get("type") in (None, json_type(given), number_type(given), *(() if isinstance(given, bool) else ("number",)))


def type_of_choices(root: Schema, path: Sequence[str | int]) -> str | None:
    """The one type that all choices of a place have, null apart; None where they have several, or something else may stand there."""
    nodes = without_null(schemas_at(root, path))
    if any("enum" not in node and "const" not in node for node in nodes):
        return None
    types = {json_type(choice) for node in nodes for choice in choices_in(node) if choice is not None}
    return types.pop() if len(types) == 1 else None


def without_null(schemas: Sequence[Schema]) -> list[Schema]:
    """Those that are for anything but null."""
    return [schema for schema in schemas if schema.get("type") != "null"]


def _inner(root: Schema, schema: Schema, step: str | int) -> Json:
    for member in _members(root, schema):
        if isinstance(step, int):
            first: list[Json] = member.get("prefixItems", [])
            inner: Json = first[step] if step < len(first) else member.get("items")
        else:
            inner = member.get("properties", {}).get(step, member.get("additionalProperties"))
        if isinstance(inner, dict):
            return cast(dict[str, Json], inner)
    return None


def _members(root: Schema, schema: Schema) -> list[Schema]:
    """The schema itself, or the members of the union it is; references followed."""
    if isinstance(ref := schema.get("$ref"), str):
        return _members(root, root.get("$defs", {}).get(ref.rpartition("/")[2], {}))
    many: list[Schema] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [inner for one in many for inner in _members(root, one)] if many else [schema]

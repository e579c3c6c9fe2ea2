"""A JSON Schema as a line of Python to be filled in: `{'ok': ...}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_DEEPEST = 2
_MOST_CHOICES = 6


def sketch(schema: Mapping[str, Any]) -> str:
    """What a value of the schema looks like: required properties by name, texts to choose from, and `...` for the rest.

    Run as it stands it sends nothing: `'a' | 'b'` is no Python value, and `...` has no JSON form.
    """
    return _sketch(schema, schema, 0)


def _sketch(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    at = _resolved(schema, root)
    if depth > _DEEPEST:
        return "..."
    choices: list[Any] = at.get("enum") or []
    if 1 < len(choices) <= _MOST_CHOICES and all(isinstance(one, str) for one in choices):
        return " | ".join(map(repr, choices))
    for keyword in ("oneOf", "anyOf"):
        branches = [_resolved(one, root) for one in _schemas(at.get(keyword))]
        objects = [one for one in branches if one.get("type") != "null"]
        if len(objects) == 1:
            return _sketch(objects[0], root, depth)
        if branches:
            return "..."
    properties = at.get("properties")
    if isinstance(properties, Mapping):
        named = cast(Mapping[str, Any], properties)
        wanted: list[Any] = [name for name in at.get("required", []) if name in named] or list(named)
        inner = [f"{name!r}: {_sketch(cast(Mapping[str, Any], named[name]), root, depth + 1)}" for name in wanted]
        return f"{{{', '.join(inner)}}}"
    if at.get("type") == "array":
        return "[...]"
    return "..."


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    ref = schema.get("$ref")
    if not isinstance(ref, str):
        return schema
    found = cast(Mapping[str, Any], root.get("$defs", {})).get(ref.rpartition("/")[2])
    return cast(Mapping[str, Any], found) if isinstance(found, Mapping) and found is not schema else {}


def _schemas(value: Any) -> list[Mapping[str, Any]]:
    many: list[Any] = cast(list[Any], value) if isinstance(value, list) else []
    return [cast(Mapping[str, Any], one) for one in many if isinstance(one, Mapping)]

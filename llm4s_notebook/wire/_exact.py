"""Whole numbers that a browser cannot hold: they travel as texts of their digits, and are numbers again here (W2.8). Pure.

A browser reads every number of a document as a double, and so shows and sends another number than it was given where one lies beyond
2^53. Where a schema takes a whole number, and no text that could be meant instead, the digits are sent as text. Both ways ask the same
schema about the same place, so that what nobody has touched comes back as it went.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast
from urllib.parse import unquote

from ._base import Json, JsonObject

MOST = 2**53 - 1
"""The largest whole number a browser holds exactly, with every smaller one."""

_DIGITS = re.compile(r"-?\d{16,4300}", re.ASCII)  # as many as Python reads by default
_UNIONS = ("anyOf", "oneOf", "allOf")
_SAYING = (*_UNIONS, "enum", "const")
_DEEPEST = 60  # parts that lie deeper are sent as they are


_Node = Mapping[str, Json]


def as_texts(value: Json, schema: _Node | None) -> Json:
    """The value for a browser's form of this schema."""
    return value if schema is None or not _any(value, _is_large) else _walk(value, [schema], schema, _to_text)


def as_numbers(value: Json, schema: _Node | None) -> Json:
    """The value that a browser's form of this schema means."""
    return value if schema is None or not _any(value, _is_digits) else _walk(value, [schema], schema, _to_number)


def to_look_at(value: Json) -> Json:
    """The value with every such number as text: for what a browser shows and never sends back."""
    return _everywhere(value) if _any(value, _is_large) else value


def marks_of(value: Json) -> JsonObject | None:
    """A schema that tells the value's numbers of this kind from its texts, for a copy of it; None where it has none."""
    return _marks(value) if _any(value, _is_large) else None


def _marks(value: Json, depth: int = 0) -> JsonObject:
    if depth < _DEEPEST:
        if isinstance(value, dict):
            return {"type": "object", "properties": {name: _marks(item, depth + 1) for name, item in value.items()}}
        if isinstance(value, list):
            return {"type": "array", "prefixItems": [_marks(item, depth + 1) for item in value]}
    return {"type": "integer"} if _is_large(value) else {}


def _any(value: Json, test: Callable[[Json], bool], depth: int = 0) -> bool:
    """Whether a part of the value passes; most values have none, and are not gone through with their schema."""
    if isinstance(value, dict | list):
        return depth < _DEEPEST and any(_any(item, test, depth + 1) for item in (value.values() if isinstance(value, dict) else value))
    return test(value)


def _is_large(value: Json) -> bool:
    return type(value) is int and abs(value) > MOST


def _is_digits(value: Json) -> bool:
    return isinstance(value, str) and _DIGITS.fullmatch(value) is not None


def _everywhere(value: Json, depth: int = 0) -> Json:
    if depth < _DEEPEST:
        if isinstance(value, dict):
            return {name: _everywhere(item, depth + 1) for name, item in value.items()}
        if isinstance(value, list):
            return [_everywhere(item, depth + 1) for item in value]
    return _to_text(value)


def _to_text(value: Json) -> Json:
    return str(value) if _is_large(value) else value


def _to_number(value: Json) -> Json:
    if not isinstance(value, str) or not _is_digits(value):
        return value
    number = int(value)
    return number if _is_large(number) else value


def _walk(value: Json, nodes: list[_Node], root: _Node, change: Callable[[Json], Json], depth: int = 0) -> Json:
    if depth > _DEEPEST:
        return value
    members = [member for node in nodes for member in _members(node, root)]
    if isinstance(value, dict):
        return {name: _walk(item, _at_name(members, name), root, change, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_walk(item, _at_index(members, at), root, change, depth + 1) for at, item in enumerate(value)]
    return change(value) if _takes_whole_numbers_alone(members) else value


def _members(node: _Node, root: _Node, seen: tuple[str, ...] = ()) -> Iterator[_Node]:
    """A schema with references followed, with what stands beside them, and unions taken apart."""
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference not in seen:
            beside = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
            yield from _members({**_referred(reference, root), **beside}, root, (*seen, reference))
        return
    yield node
    for keyword in _UNIONS:
        members = node.get(keyword)
        for member in _schemas(members) if isinstance(members, list) else ():
            yield from _members(member, root, seen)


def _referred(reference: str, root: _Node) -> _Node:
    """What a reference leads to; a schema that allows anything where that is nothing."""
    found: Json = cast(JsonObject, root)
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(unquote(step).replace("~1", "/").replace("~0", "~")) if isinstance(found, dict) else None
    return found if reference.startswith("#") and isinstance(found, dict) else {}


def _takes_whole_numbers_alone(members: list[_Node]) -> bool:
    """Whether one member is a whole number, and none a text, a choice or anything at all."""
    return any(member.get("type") == "integer" for member in members) and all(_is_plain(member) for member in members)


def _is_plain(member: _Node) -> bool:
    if "enum" in member or "const" in member:
        return False
    kind = member.get("type")
    return kind != "string" if isinstance(kind, str) else any(keyword in member for keyword in _UNIONS)


def _at_name(members: Iterable[_Node], name: str) -> list[_Node]:
    found: list[Json] = []
    for member in members:
        properties = member.get("properties")
        if isinstance(properties, dict) and name in properties:
            found.append(properties[name])
            continue
        patterns = member.get("patternProperties")
        found += patterns.values() if isinstance(patterns, dict) else ()
        found.append(member.get("additionalProperties", _says_nothing(member, "object", "properties", "patternProperties")))
    return _schemas(found)


def _at_index(members: Iterable[_Node], at: int) -> list[_Node]:
    found: list[Json] = []
    for member in members:
        first = member.get("prefixItems")
        places = first if isinstance(first, list) else []
        found.append(places[at] if at < len(places) else member.get("items", _says_nothing(member, "array", "prefixItems")))
    return _schemas(found)


def _says_nothing(member: _Node, kind: str, *inner: str) -> bool:
    """Whether a member takes an object, or a list, of anything."""
    return member.get("type", kind) == kind and not any(keyword in member for keyword in (*_SAYING, *inner))


def _schemas(values: Iterable[Json]) -> list[_Node]:
    """The schemas among the values, each once: members of a union often hold the same, and twice as many at each level is too many.

    True is a schema that allows anything.
    """
    found: dict[int, _Node] = {}
    for value in values:
        if isinstance(value, dict) or value is True:
            found[id(value)] = value if isinstance(value, dict) else {}
    return list(found.values())

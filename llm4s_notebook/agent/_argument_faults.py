"""What is wrong with a call's arguments, said in the forms of 3.3.6 whoever validated them (D20)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import ErrorDetails

from ..graph import value_path
from ..models import Json, compact
from ._bounds import broken_bounds
from ._codec import json_path
from ._schema_place import choices_in, json_type, number_type, schemas_at, takes, type_of_choices, without_null


@dataclass(frozen=True, slots=True)
class ArgumentFault:
    """One thing that is wrong with a call's arguments. A place has any name, so a form is told its steps and not their text."""

    path: tuple[str | int, ...]
    reason: str

    def __str__(self) -> str:
        return f"{json_path(self.path)}: {self.reason}"


class InvalidArguments(Exception):
    """Arguments that a tool does not take; `str()` is every fault joined with "; ".

    `problems` are the faults as lines; `faults` the same, with their places where these are known.
    """

    def __init__(self, problems: Sequence[str | ArgumentFault]) -> None:
        self.faults = tuple(problems)
        self.problems = tuple(map(str, problems))
        super().__init__("; ".join(self.problems))


_EXPECTED = {
    "string_type": "string",
    "string_sub_type": "string",
    "int_type": "integer",
    "int_from_float": "integer",
    "float_type": "number",
    "bool_type": "boolean",
    "none_required": "null",
    "list_type": "array",
    "tuple_type": "array",
    "set_type": "array",
    "frozen_set_type": "array",
    "dict_type": "object",
    "model_type": "object",
    "model_attributes_type": "object",
    "dataclass_type": "object",
    "mapping_type": "object",
    "iterable_type": "array",
    "named_tuple_type": "array",
    "date_type": "string",
    "datetime_type": "string",
    "time_type": "string",
    "time_delta_type": "string",
    "uuid_type": "string",
    "url_type": "string",
    "bytes_type": "string",
    "pattern_type": "string",
    "decimal_type": "number or string",
}

_BOUNDS = {
    "greater_than_equal": ("ge", "is below minimum"),
    "less_than_equal": ("le", "is above maximum"),
    "greater_than": ("gt", "is not above exclusiveMinimum"),
    "less_than": ("lt", "is not below exclusiveMaximum"),
    "multiple_of": ("multiple_of", "is not a multiple of"),
}

_MISSING = {"missing", "missing_argument", "missing_keyword_only_argument"}
_EXTRA = {"extra_forbidden", "unexpected_keyword_argument"}


def _number(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class _Fault:
    """One pydantic error: where in the arguments, and its reason in our words."""

    __slots__ = ("expected", "more", "path", "rank", "reason")

    def __init__(self, error: ErrorDetails, arguments: Json, schema: Mapping[str, Json]) -> None:
        kind = error["type"]
        self.path = value_path(arguments, error["loc"], missing=kind in _MISSING)
        self.expected = _EXPECTED.get(kind)
        self.reason = _reason(kind, error)
        self.more: list[str] = []
        if kind in _TAGS and (tag := _tag_of(error)) is not None:
            self.path = (*self.path, tag)
            kind, self.reason = _wrong_tag(kind, error)
        elif kind in _CHOICES and (wanted := type_of_choices(schema, self.path)) is not None:
            given = number_type(error["input"])
            if given != wanted and (given, wanted) != ("integer", "number"):  # a type mismatch reports only itself
                self.expected, self.reason = wanted, f"expected {wanted}, got {json_type(error['input'])}"
        elif kind in _BOUNDS:
            self.more = _other_bounds(kind, error["input"], schema, self.path)
        self.rank = 0 if kind in _MISSING else 1 if kind in _EXTRA else 2


def _reason(kind: str, error: ErrorDetails) -> str:
    given: Json = error["input"]
    context: Mapping[str, Any] = error.get("ctx", {})
    if kind in _MISSING:
        return "required property missing"
    if kind in _EXTRA:
        return "property not allowed"
    if kind in _EXPECTED:
        return f"expected {_EXPECTED[kind]}, got {json_type(given)}"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"{_number(given)} {words} {_number(context[bound])}"
    match kind:
        case "string_too_short":
            return f"length {len(given)} is below minLength {context['min_length']}"
        case "string_too_long":
            return f"length {len(given)} is above maxLength {context['max_length']}"
        case "too_short" | "too_long" if isinstance(given, str):  # a secret, whose length pydantic counts like a list's
            side = "below minLength" if kind == "too_short" else "above maxLength"
            return f"length {len(given)} is {side} {context['min_length' if kind == 'too_short' else 'max_length']}"
        case "too_short":
            things, keyword = ("properties", "minProperties") if isinstance(given, dict) else ("items", "minItems")
            return f"{context['actual_length']} {things} is below {keyword} {context['min_length']}"
        case "too_long":
            things, keyword = ("properties", "maxProperties") if isinstance(given, dict) else ("items", "maxItems")
            return f"{context['actual_length'] or len(cast(list[Json], given))} {things} is above {keyword} {context['max_length']}"
        case "bytes_too_short":
            return f"length {len(given)} is below minLength {context['min_length']}"
        case "bytes_too_long":
            return f"length {len(given)} is above maxLength {context['max_length']}"
        case "string_pattern_mismatch":
            return f"does not match the pattern {context['pattern']}"
        case "literal_error" | "enum":
            return f"{compact(given)} is not one of [{_as_json(context['expected'])}]"
        case "union_tag_invalid":
            return f"{context['discriminator']} is {context['tag']!r}, not one of [{context['expected_tags']}]"
        case "union_tag_not_found":
            return f"no {context['discriminator']} that tells which form is meant"
        case _:
            return error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")


def _other_bounds(kind: str, given: Json, schema: Mapping[str, Json], path: Sequence[str | int]) -> list[str]:
    """The bounds that a number breaks too: pydantic tells the first it finds."""
    nodes = without_null(schemas_at(schema, path))
    if len(nodes) != 1 or isinstance(given, bool) or not isinstance(given, int | float):
        return []
    number = int(given) if isinstance(given, float) and given.is_integer() else given
    bounds = {keyword: value for keyword, value in nodes[0].items() if isinstance(value, int | float)}
    return [broken for broken in broken_bounds(bounds, number) if _BOUNDS[kind][1] not in broken]


_CHOICES = {"literal_error", "enum"}
_TAGS = {"union_tag_invalid", "union_tag_not_found"}
_WORDS = {"None": "null", "True": "true", "False": "false"}


def _as_json(expected: str) -> str:
    """pydantic's "'a', 'b' or None" as a JSON list's inside; of a member of an enum, `<Level.LOW: 'low'>`, its value."""
    expected = re.sub(r"<[\w.]+: ([^<>]*)>", r"\1", expected)
    items: list[str] = re.findall(r"'(?:[^'\\]|\\.)*'|[^\s,']+", expected)
    return ", ".join(compact(item[1:-1]) if item.startswith("'") else _WORDS.get(item, item) for item in items if item != "or")


def _tag_of(error: ErrorDetails) -> str | None:
    """The property that tells the members of a union apart; None where a function does."""
    said: str = error.get("ctx", {}).get("discriminator", "")
    return said[1:-1] if re.fullmatch(r"'[^']*'", said) else None


def _wrong_tag(kind: str, error: ErrorDetails) -> tuple[str, str]:
    """The error's kind and reason as those of the property that tells."""
    if kind == "union_tag_not_found":
        return "missing", "required property missing"
    context: Mapping[str, Any] = error.get("ctx", {})
    return "literal_error", f"{compact(context['tag'])} is not one of [{_as_json(context['expected_tags'])}]"


def mistaken_choice(schema: Mapping[str, Json], path: Sequence[str | int], given: bool | float) -> ArgumentFault | None:
    """The fault of a boolean that was taken for a number among choices, or of a number taken for one: to Python `True` is 1."""
    nodes = schemas_at(schema, path)
    choices = [choice for node in nodes for choice in choices_in(node)]
    if not any(choice == given and isinstance(choice, bool) is not isinstance(given, bool) for choice in choices):
        return None
    if any(takes(node, given) for node in nodes):
        return None
    types = [one for node in nodes for one in ([node["type"]] if "type" in node else map(json_type, choices_in(node))) if one != "null"]
    if json_type(given) in types:
        return ArgumentFault(tuple(path), f"{compact(given)} is not one of [{', '.join(map(compact, choices))}]")
    return ArgumentFault(tuple(path), f"expected {' or '.join(dict.fromkeys(types))}, got {json_type(given)}")


def _ordered(faults: Sequence[_Fault], depth: int) -> list[_Fault]:
    """Missing, then extra, then nested, in the order of first appearance, at every level (3.3.6)."""
    here = [fault for fault in faults if len(fault.path) <= depth]
    missing = [fault for fault in faults if fault.rank == 0 and len(fault.path) == depth + 1]
    extra = [fault for fault in faults if fault.rank == 1 and len(fault.path) == depth + 1]
    nested: dict[str | int, list[_Fault]] = {}
    for fault in faults:
        if len(fault.path) > depth and not (fault.rank < 2 and len(fault.path) == depth + 1):
            nested.setdefault(fault.path[depth], []).append(fault)
    return here + missing + extra + [fault for group in nested.values() for fault in _ordered(group, depth + 1)]


def faults_in(errors: Sequence[ErrorDetails], arguments: Json, schema: Mapping[str, Json]) -> list[ArgumentFault]:
    """One fault per place: what several members of a union expected there is joined with " or " (D20)."""
    faults = [_Fault(error, arguments, schema) for error in errors]
    by_place: dict[tuple[str | int, ...], list[_Fault]] = {}
    for fault in _ordered(faults, 0):
        by_place.setdefault(fault.path, []).append(fault)
    lines: list[ArgumentFault] = []
    for path, group in by_place.items():
        if all(fault.expected for fault in group) and any(other[: len(path)] == path and len(other) > len(path) for other in by_place):
            continue  # another member of the union fits the value's type; its faults lie deeper
        expected = list(dict.fromkeys(fault.expected for fault in group if fault.expected))
        if expected and "null" not in expected and any(at.get("type") == "null" for at in schemas_at(schema, path)):
            expected.append("null")
        others = list(dict.fromkeys(fault.reason for fault in group if not fault.expected))
        got = next((fault.reason.rpartition(", got ")[2] for fault in group if fault.expected), "")
        reasons = others + ([f"expected {' or '.join(expected)}, got {got}"] if expected else [])
        lines.append(ArgumentFault(path, " or ".join(reasons)))
        if len(group) == 1:
            lines += [ArgumentFault(path, broken) for broken in group[0].more]
    return lines

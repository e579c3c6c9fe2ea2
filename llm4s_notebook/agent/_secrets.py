"""Secret arguments: what is shown in their place, and the way back to the value (3.8). Pure.

A place is secret when its JSON Schema says `writeOnly`, as pydantic's does for `SecretStr`, `SecretBytes` and `Secret[…]`.
Whatever cannot be told for certain from the schema - a name it does not know, a value of the wrong type where a secret lies
deeper - counts as secret too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple, cast

from ..models import Json

DOT = "•"
FEWEST_DOTS = 8
DOTS = DOT * FEWEST_DOTS
PYDANTICS = "*" * 10  # what pydantic itself prints for a secret
NO_VALUE = "these dots stand for a secret that is not known here; give the secret itself"

_Path = tuple[str | int, ...]
_Change = Callable[[Json, _Path], Json]
_Node = Mapping[str, Json]
_UNIONS = ("anyOf", "oneOf", "allOf")


def is_hidden(value: object) -> bool:
    """True for a text that stands in a secret's place, ours or pydantic's."""
    if not isinstance(value, str):
        return False
    return value == PYDANTICS or (len(value) >= FEWEST_DOTS and not value.strip(DOT))


class Revealed(NamedTuple):
    """A value with its secrets in place again. `unknown` are the places whose dots stand for nothing known; `lost` says that
    a known secret has no place in the value any more."""

    value: Json
    unknown: list[tuple[str | int, ...]]
    lost: bool


class Hidden(NamedTuple):
    """A value with dots in place of its secrets, and what each of these texts stands for. Each secret has its own text."""

    shown: Json
    values: dict[str, Json]


class SecretPlaces:
    """Where the values of one schema are secret. Make it with `of`, which gives None where nothing is."""

    def __init__(self, schema: _Node) -> None:
        self._root = schema
        self._holding: dict[int, bool] = {}

    @classmethod
    def of(cls, schema: _Node) -> SecretPlaces | None:
        """The places of a schema; None when it has none."""
        places = cls(schema)
        return places if places.holds(schema) else None

    def hide(self, value: Json, known: Mapping[str, Json] | None = None) -> Hidden:
        """Put dots in place of the secrets. A text that `known` has a value for keeps that value.

        The dots of a new secret are a text that occurs nowhere else in the value, so that no other argument is taken for it.
        """
        known = known or {}
        taken = {*known, *(text for text in _texts(value) if is_hidden(text))}
        fresh = (text for text in (DOT * length for length in count(FEWEST_DOTS)) if text not in taken)
        values: dict[str, Json] = {}

        def change(one: Json, _path: _Path) -> Json:
            if is_hidden(one):
                if one in known:
                    values[one] = known[one]
                return one
            text = next(fresh)
            values[text] = one
            return text

        return Hidden(self._walk(value, [self._root], change, ()), values)

    def reveal(self, shown: Json, values: Mapping[str, Json]) -> Revealed:
        """Put the secrets back."""
        unknown: list[_Path] = []
        used: set[str] = set()

        def change(one: Json, path: _Path) -> Json:
            if not is_hidden(one):
                return one
            if one in values:
                used.add(one)
                return values[one]
            unknown.append(path)
            return one

        made = self._walk(shown, [self._root], change, ())
        return Revealed(made, unknown, used != set(values))

    def leave_out(self, value: Json) -> Json:
        """The value without its secrets: the property is gone, a list has null in the item's place. Dots in their place stay."""
        shown, values = self.hide(value)
        return _without(shown, values) if values else value

    # -- the walk ----------------------------------------------------------------------------------------------------

    def _walk(self, value: Json, nodes: Sequence[_Node], change: _Change, path: _Path) -> Json:
        """The value with every secret part changed; `nodes` are the schemas of which it may satisfy any."""
        if value is None:
            return None
        members = list(self._members(nodes))
        if any(node.get("writeOnly") is True for node in members):
            return change(value, path)
        if not any(self.holds(node) for node in members):
            return value
        if isinstance(value, dict) and any(_is_object(node) for node in members):
            given = cast(dict[str, Json], value)
            return {name: self._inner(item, _at_name(members, name), change, (*path, name)) for name, item in given.items()}
        if isinstance(value, list) and any(_is_array(node) for node in members):
            items = cast(list[Json], value)
            return [self._inner(item, _at_index(members, at), change, (*path, at)) for at, item in enumerate(items)]
        open_to = any(_takes(node, value) for node in members if not self.holds(node))
        return cast(Json, value) if open_to else change(value, path)

    def _inner(self, value: Json, nodes: Sequence[_Node], change: _Change, path: _Path) -> Json:
        if nodes:
            return self._walk(value, nodes, change, path)
        return None if value is None else change(value, path)

    def _members(self, nodes: Iterable[_Node], seen: frozenset[int] = frozenset()) -> Iterator[_Node]:
        """The nodes with references followed and unions taken apart."""
        for node in nodes:
            if id(node) in seen:
                continue
            inside = seen | {id(node)}
            yield node
            if (referred := self._referred(node)) is not None:
                yield from self._members([referred], inside)
            for keyword in _UNIONS:
                yield from self._members(_nodes(node.get(keyword)), inside)

    def _referred(self, node: _Node) -> _Node | None:
        ref = node.get("$ref")
        if not isinstance(ref, str):
            return None
        definitions = self._root.get("$defs")
        found = cast(_Node, definitions).get(ref.rpartition("/")[2]) if isinstance(definitions, Mapping) else None
        return cast(_Node, found) if isinstance(found, Mapping) else None

    def holds(self, node: _Node) -> bool:
        """Whether a secret lies in this schema, however deep."""
        known = self._holding.get(id(node))
        if known is None:
            known = self._holding[id(node)] = any(one.get("writeOnly") is True for one in self._reachable(node))
        return known

    def _reachable(self, start: _Node) -> Iterator[_Node]:
        waiting: list[_Node] = [start]
        seen: set[int] = set()
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield node
            waiting += _below(node)
            if (referred := self._referred(node)) is not None:
                waiting.append(referred)


def _nodes(value: Json) -> list[_Node]:
    """A schema, or those of a list."""
    many: list[Json] = cast(list[Json], value) if isinstance(value, list) else [value]
    return [cast(_Node, one) for one in many if isinstance(one, Mapping)]


def _named(node: _Node, keyword: str) -> Mapping[str, Json]:
    found = node.get(keyword)
    return cast(Mapping[str, Json], found) if isinstance(found, Mapping) else {}


def _below(node: _Node) -> list[_Node]:
    """The schemas one level down."""
    below: list[_Node] = []
    for keyword in (*_UNIONS, "items", "prefixItems", "additionalProperties"):
        below += _nodes(node.get(keyword))
    for keyword in ("properties", "patternProperties"):
        for inner in _named(node, keyword).values():
            below += _nodes(inner)
    return below


def _is_object(node: _Node) -> bool:
    return node.get("type") == "object" or "properties" in node


def _is_array(node: _Node) -> bool:
    return node.get("type") == "array" or "items" in node or "prefixItems" in node


def _takes(node: _Node, value: Json) -> bool:
    """Whether a schema of no reference and no union takes values of this type."""
    if "$ref" in node or any(keyword in node for keyword in _UNIONS):
        return False
    wanted = node.get("type")
    if wanted is None:
        return True
    types = cast(list[Json], wanted) if isinstance(wanted, list) else [wanted]
    match value:
        case bool():
            return "boolean" in types
        case int() | float():
            return "integer" in types or "number" in types
        case str():
            return "string" in types
        case list():
            return "array" in types
        case _:
            return "object" in types


def _at_name(members: Iterable[_Node], name: str) -> list[_Node]:
    """The schemas of a property; none where no member knows it."""
    found: list[_Node] = []
    for node in members:
        properties = _named(node, "properties")
        if name in properties:
            found += _nodes(properties[name])
            continue
        for inner in _named(node, "patternProperties").values():
            found += _nodes(inner)
        found += _nodes(node.get("additionalProperties"))
    return found


def _at_index(members: Iterable[_Node], at: int) -> list[_Node]:
    found: list[_Node] = []
    for node in members:
        first = _nodes(node.get("prefixItems"))
        found += [first[at]] if at < len(first) else _nodes(node.get("items"))
    return found


# -- values and schemas ----------------------------------------------------------------------------------------------


def _texts(value: Json) -> Iterator[str]:
    """Every text in a JSON value, names of properties left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in cast(dict[str, Json], value).values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast(list[Json], value):
            yield from _texts(item)


def _without(value: Json, texts: Mapping[str, Json]) -> Json:
    """The value without these texts, which occur in it as values only."""
    if isinstance(value, dict):
        given = cast(dict[str, Json], value)
        return {name: _without(item, texts) for name, item in given.items() if not (isinstance(item, str) and item in texts)}
    if isinstance(value, list):
        return [_without(item, texts) for item in cast(list[Json], value)]
    return None if isinstance(value, str) and value in texts else value


def hide_secrets(value: Json, schema: Mapping[str, Any]) -> Json:
    """The value with dots in place of everything that its JSON Schema marks as secret: for a log, or a display of one's own."""
    places = SecretPlaces.of(schema)
    return value if places is None else places.hide(value).shown


def without_defaults(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema without defaults and examples where a secret lies: they are secrets, or print as asterisks."""
    places = SecretPlaces.of(schema)
    if places is None:
        return schema

    def change(node: _Node) -> dict[str, Json]:
        return {keyword: inner for keyword, inner in node.items() if not (keyword in ("default", "examples") and places.holds(node))}

    return _rewritten(schema, change)


def form_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """The schema for a form in which dots stand for secrets: whether a secret is long enough is for the kernel to say."""
    if SecretPlaces.of(schema) is None:
        return schema

    def change(node: _Node) -> dict[str, Json]:
        if node.get("writeOnly") is not True:
            return dict(node)
        kept = ("title", "description", "format", "writeOnly", *(("type",) if node.get("type") == "string" else ()))
        return {keyword: inner for keyword, inner in node.items() if keyword in kept}

    return _rewritten(schema, change)


def _rewritten(node: _Node, change: Callable[[_Node], dict[str, Json]]) -> dict[str, Json]:
    """A copy of a schema with every schema in it changed, itself first."""
    made = change(node)
    for keyword in ("$defs", "properties", "patternProperties"):
        if keyword in made:
            made[keyword] = {
                name: _rewritten(cast(_Node, inner), change) if isinstance(inner, Mapping) else inner
                for name, inner in _named(made, keyword).items()
            }
    for keyword in (*_UNIONS, "prefixItems"):
        if isinstance(made.get(keyword), list):
            made[keyword] = [_rewritten(inner, change) for inner in _nodes(made[keyword])]
    for keyword in ("items", "additionalProperties"):
        if isinstance(inner := made.get(keyword), Mapping):
            made[keyword] = _rewritten(cast(_Node, inner), change)
    return made

"""What a model is told of a function's parameters, and what it may then send: D20, agent.md 3.1-3.3."""

from __future__ import annotations

import dataclasses
import functools
import json
import threading
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, Union

import pytest
from pydantic import BaseModel, Field, HttpUrl
from typing_extensions import TypedDict

from llm4s_notebook.agent import Agent, AskingTool, InvalidArguments, ToolContext, ToolOutcome, tool
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, calls

from .support import call, tool_texts


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Rank(IntEnum):
    ONE = 1
    TWO = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="with the number")
    zip: str | None = None


class Person(BaseModel):
    model_config = {"extra": "forbid"}
    name: str
    addresses: list[Address] = []
    boss: Person | None = None


class Row(NamedTuple):
    id: int
    label: str = "x"


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


@dataclasses.dataclass
class Span:
    start: int
    end: int = 9


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str


def schema_of(annotation: Any, default: Any = ...) -> Any:
    """The schema of one parameter of this type; references resolved one level."""

    def made(x: Any) -> None:
        """Take x."""

    made.__annotations__["x"] = annotation
    if default is not ...:
        made.__defaults__ = (default,)
    parameters = tool(made).spec.parameters
    x = parameters["properties"]["x"]
    if "$ref" in x:
        x = {**parameters["$defs"][x["$ref"].rpartition("/")[2]], **{key: value for key, value in x.items() if key != "$ref"}}
    return x


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Level, {"type": "string", "enum": ["low", "high"], "title": "Level"}),
        (Rank, {"type": "integer", "enum": [1, 2], "title": "Rank"}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - a way to write it under test
        (Union[int, None], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP007 - a way to write it under test
        (Annotated[int, Field(ge=1, lt=9, multiple_of=2)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}),
        (
            Annotated[str, Field(min_length=1, max_length=3, pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"},
        ),
        (
            Annotated[list[int], Field(min_length=1, max_length=2)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
        (date, {"type": "string", "format": "date"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Any, {}),
    ],
)
def test_types_and_constraints_are_what_the_model_is_told(annotation: Any, schema: Any) -> None:
    """D20."""
    assert schema_of(annotation) == schema


def test_nested_models_are_told_with_their_descriptions() -> None:
    """D20: recursive too."""
    person = schema_of(Person)
    assert person["required"] == ["name"]
    assert person["additionalProperties"] is False
    assert person["properties"]["addresses"]["items"] == {"$ref": "#/$defs/Address"}
    assert person["properties"]["boss"]["anyOf"][0] == {"$ref": "#/$defs/Person"}
    address = schema_of(Address)
    assert address["description"] == "Where somebody lives."
    assert address["properties"]["street"] == {"type": "string", "description": "with the number"}
    pets = schema_of(Annotated[Cat | Dog, Field(discriminator="kind")])
    assert pets["discriminator"]["propertyName"] == "kind"


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (int, 3, 3),
        (Level, Level.LOW, "low"),
        (int | None, None, None),
        (date, date(2026, 1, 2), "2026-01-02"),
        (Decimal, Decimal("1.50"), "1.50"),
    ],
)
def test_a_default_is_told_and_makes_its_parameter_optional(annotation: Any, default: Any, told: Any) -> None:
    """D20, 3.3.1."""
    assert schema_of(annotation, default)["default"] == told


def test_a_default_without_json_form_is_not_told_and_used_all_the_same() -> None:
    """D20: without a warning."""
    thing = object()

    def made(x: Any = thing) -> None:
        """Take x."""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrapped = tool(made)
        assert wrapped.spec.parameters["properties"] == {"x": {}}
    assert wrapped.decode({})["x"] is not None


def test_a_field_may_stand_as_the_default() -> None:
    """D20: the other way to write a constraint."""

    @tool
    async def made(a: int = Field(3, ge=1, description="how many"), b: int = Field(ge=1)) -> None:
        """Make."""

    assert made.spec.parameters["properties"]["a"] == {"type": "integer", "default": 3, "minimum": 1, "description": "how many"}
    assert made.spec.parameters["required"] == ["b"]
    assert made.decode({"b": 2}) == {"a": 3, "b": 2}
    with pytest.raises(InvalidArguments, match=r"\$.a: 0 is below minimum 1"):
        made.decode({"a": 0, "b": 1})


GOOGLE = """Order something.

It is sent at once.

Args:
    item (str): what to order,
        in full
    count: how many

Returns:
    The order's number.

Raises:
    ValueError: when there is none.
"""
NUMPY = """Order something.

It is sent at once.

Parameters
----------
item : str
    what to order,
    in full
count : int, optional
    how many

Returns
-------
str
    The order's number.
"""
SPHINX = """Order something.

It is sent at once.

:param item: what to order,
    in full
:type item: str
:param count: how many
:returns: The order's number.
:raises ValueError: when there is none.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["Google", "NumPy", "Sphinx"])
def test_descriptions_come_from_the_docstring_whatever_its_style(text: str) -> None:
    """D20, api.md: what it returns and raises is not told."""

    async def order(item: str, count: int = 1) -> str:
        return ""

    order.__doc__ = text
    spec = tool(order).spec
    assert spec.description == "Order something.\nIt is sent at once."
    properties = spec.parameters["properties"]
    assert " ".join(properties["item"]["description"].split()) == "what to order, in full"
    assert properties["count"] == {"type": "integer", "default": 1, "description": "how many"}


@pytest.mark.parametrize(
    "text", [None, "", "   ", "One line.", "Args:\n    x", ":param", "-----\n\x00", "Broken\n\nParameters\n----------\n"]
)
def test_any_docstring_makes_a_tool(text: str | None) -> None:
    """D20."""

    async def made(x: int) -> None: ...

    made.__doc__ = text
    assert tool(made).spec.parameters["properties"]["x"]["type"] == "integer"


# -- what may be sent ------------------------------------------------------------------------------------------------


@tool
async def everything(
    text: str,
    count: int,
    share: float,
    yes: bool,
    level: Level,
    rank: Rank,
    choice: Literal["a", "b"],
    number: Literal[1, 2],
    day: date,
    moment: datetime,
    hour: time,
    span: timedelta,
    id: uuid.UUID,
    price: Decimal,
    data: bytes,
    link: HttpUrl,
    many: list[int],
    some: set[int],
    pair: tuple[int, str],
    named: dict[str, int],
    row: Row,
    options: Options,
    part: Span,
    person: Person,
    pet: Annotated[Cat | Dog, Field(discriminator="kind")],
    either: int | str,
    maybe: float | None,
) -> None:
    """Take everything."""


GOOD: dict[str, Any] = {
    "text": "t", "count": 1, "share": 0.5, "yes": True, "level": "low", "rank": 1, "choice": "a", "number": 2, "day": "2026-01-02",
    "moment": "2026-01-02T03:04:05Z", "hour": "03:04:05", "span": "PT5M", "id": str(uuid.UUID(int=1)), "price": "1.50", "data": "abc",
    "link": "http://x.example/", "many": [1], "some": [1, 2], "pair": [1, "x"], "named": {"a": 1}, "row": [1], "options": {"deep": True},
    "part": {"start": 1}, "person": {"name": "ana"}, "pet": {"kind": "cat", "lives": 9}, "either": "x", "maybe": None,
}  # fmt: skip


def test_what_fits_arrives_as_the_types_declared() -> None:
    """D20."""
    got = everything.decode(GOOD)
    assert (got["level"], got["rank"], got["day"], got["price"]) == (Level.LOW, Rank.ONE, date(2026, 1, 2), Decimal("1.50"))
    assert (got["row"], got["part"], got["pet"], got["some"]) == (Row(1), Span(1), Cat(kind="cat", lives=9), {1, 2})
    assert got["person"].addresses == []


@pytest.mark.parametrize("name", list(GOOD))
@pytest.mark.parametrize("wrong", [None, True, 7, 7.5, "7", [], {}, ["x"], {"x": "x"}], ids=repr)
def test_nothing_is_made_into_another_type(name: str, wrong: Any) -> None:
    """3.3.3, D4: what is taken is of the JSON type that the schema tells, and a wrong type is said in the form of 3.3.6."""
    taken: dict[str, tuple[Any, ...]] = {
        "text": ("7",), "count": (7,), "share": (7, 7.5), "yes": (True,), "price": (7, 7.5, "7"), "data": ("7",),
        "many": ([],), "some": ([],),
        "named": ({},), "either": (7, "7"), "maybe": (None, 7, 7.5), "span": ("7",), "hour": ("7",), "moment": ("7",), "day": ("7",),
    }  # fmt: skip
    try:
        everything.decode({**GOOD, name: wrong})
    except InvalidArguments as refused:
        told = {"null": None, "boolean": True, "integer": 7, "number": 7.5, "string": "7", "array": [], "object": {}}
        (json_type,) = [kind for kind, value in told.items() if type(value) is type(wrong)]
        first = refused.problems[0]
        assert first.startswith(f"$.{name}")
        if first.startswith(f"$.{name}: expected "):
            assert first.endswith(f", got {json_type}")
            expected = first.removeprefix(f"$.{name}: expected ").rpartition(", got ")[0]
            assert set(expected.split(" or ")) <= set(told)
            assert json_type not in expected.split(" or ")
        elif name != "row" or json_type != "object":  # of the right type, and yet it does not fit; pydantic takes a row by name too
            assert json_type in _types_of(everything.spec.parameters["properties"][name], everything.spec.parameters)
    else:
        assert any(type(one) is type(wrong) and one == wrong for one in taken[name])


def _types_of(schema: Any, root: Any) -> set[str]:
    if "$ref" in schema:
        return _types_of(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    many = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    return {kind for one in many for kind in _types_of(one, root)} if many else {schema["type"]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"choice": "c"}, '$.choice: "c" is not one of ["a", "b"]'),
        ({"choice": 5}, "$.choice: expected string, got integer"),
        ({"number": 3}, "$.number: 3 is not one of [1, 2]"),
        ({"number": "1"}, "$.number: expected integer, got string"),
        ({"level": "mid"}, '$.level: "mid" is not one of ["low", "high"]'),
        ({"level": 1}, "$.level: expected string, got integer"),
        ({"rank": 7}, "$.rank: 7 is not one of [1, 2]"),
        ({"rank": True}, "$.rank: expected integer, got boolean"),
        ({"number": True}, "$.number: expected integer, got boolean"),
        ({"either": []}, "$.either: expected integer or string, got array"),
        ({"maybe": "x"}, "$.maybe: expected number or null, got string"),
        ({"pet": {"kind": "cow"}}, '$.pet.kind: "cow" is not one of ["cat", "dog"]'),
        ({"pet": {}}, "$.pet.kind: required property missing"),
        ({"pet": {"kind": "dog", "name": 1}}, "$.pet.name: expected string, got integer"),
        ({"pet": 5}, "$.pet: expected object, got integer"),
        ({"person": {"name": "a", "boss": {"name": "b", "boss": {}}}}, "$.person.boss.boss.name: required property missing"),
        ({"person": {"name": "a", "x": 1}}, "$.person.x: property not allowed"),
        (
            {"person": {"name": "a", "addresses": [{"street": "s"}, {"street": 1}]}},
            "$.person.addresses[1].street: expected string, got integer",
        ),
        ({"row": 5}, "$.row: expected array, got integer"),
        ({"row": ["x"]}, "$.row[0]: expected integer, got string"),
        ({"row": []}, "$.row[0]: required property missing"),
        ({"row": [1, "x", 3]}, "$.row: 3 items is above maxItems 2"),
        ({"options": {}}, "$.options.deep: required property missing"),
        (
            {"options": {"deep": 1, "limit": "x"}},
            "$.options.deep: expected boolean, got integer; $.options.limit: expected integer, got string",
        ),
        ({"part": {"start": 1.5}}, "$.part.start: expected integer, got number"),
        ({"named": {"a": "x", "b": 1, "c": None}}, "$.named.a: expected integer, got string; $.named.c: expected integer, got null"),
        ({"pair": [1]}, "$.pair[1]: required property missing"),
        ({"some": [1, "x"]}, "$.some[1]: expected integer, got string"),
        (
            {"day": 1, "id": 1, "data": 1},
            "$.day: expected string, got integer; $.id: expected string, got integer; $.data: expected string, got integer",
        ),
        ({"price": []}, "$.price: expected number or string, got array"),
    ],
)
def test_every_violation_is_reported_in_one_form(change: dict[str, Any], said: str) -> None:
    """3.3.6, D20."""
    with pytest.raises(InvalidArguments) as refused:
        everything.decode({**GOOD, **change})
    assert str(refused.value) == said


def test_a_boolean_is_no_number_among_choices_and_the_other_way_round() -> None:
    """3.3.3, D4: `True == 1` in Python, and not in JSON."""

    @tool
    async def choose(
        yes: Literal[True] = True,
        many: list[Literal[0, 1]] = [],  # noqa: B006 - a default under test
        maybe: Literal[1, None] = None,
        inner: dict[str, Rank] = {},  # noqa: B006 - a default under test
    ) -> None:
        """Choose."""

    assert choose.decode({"yes": True, "many": [0, 1], "maybe": None})["yes"] is True
    with pytest.raises(InvalidArguments) as refused:
        choose.decode({"yes": 1, "many": [0, False], "maybe": True, "inner": {"a": 1, "b": True}})
    assert refused.value.problems == (
        "$.yes: expected boolean, got integer",
        "$.many[1]: expected integer, got boolean",
        "$.maybe: expected integer, got boolean",
        "$.inner.b: expected integer, got boolean",
    )


def test_missing_then_extra_then_nested_and_all_of_them() -> None:
    """3.3.6."""
    given = {name: value for name, value in GOOD.items() if name not in ("text", "maybe")}
    with pytest.raises(InvalidArguments) as refused:
        everything.decode({"zzz": 1, **given, "pair": ["x", 1], "count": "1", "yyy": 2})
    assert refused.value.problems == (
        "$.text: required property missing",
        "$.maybe: required property missing",
        "$.zzz: property not allowed",
        "$.yyy: property not allowed",
        "$.count: expected integer, got string",
        "$.pair[0]: expected integer, got string",
        "$.pair[1]: expected string, got integer",
    )


@pytest.mark.parametrize(
    ("change", "got"),
    [
        ({"count": 3.0}, 3),
        ({"many": [1.0, 2]}, [1, 2]),
        ({"either": 4.0}, 4),
        ({"rank": 2.0}, Rank.TWO),
        ({"number": 1.0}, 1),
        ({"part": {"start": 2.0}}, Span(2)),
        ({"named": {"a": 5.0}}, {"a": 5}),
    ],
)
def test_a_whole_valued_float_is_an_integer_wherever_one_is_wanted(change: dict[str, Any], got: Any) -> None:
    """3.3.3."""
    (name,) = change
    made = everything.decode({**GOOD, **change})[name]
    assert made == got
    assert type(made) is type(got)


def test_constraints_are_said_by_their_keyword() -> None:
    """3.3.6."""

    @tool
    async def limits(
        low: Annotated[int, Field(ge=5)],
        high: Annotated[float, Field(le=5)],
        short: Annotated[str, Field(min_length=3)],
        long: Annotated[str, Field(max_length=1)],
        few: Annotated[list[int], Field(min_length=2)],
        much: Annotated[set[int], Field(max_length=1)],
        keys: Annotated[dict[str, int], Field(min_length=1)],
        step: Annotated[Decimal, Field(multiple_of=Decimal("0.5"))],
        data: Annotated[bytes, Field(max_length=2)],
        shape: Annotated[str, Field(pattern="^a+$")],
        after: Annotated[date, Field(gt=date(2026, 1, 1))],
    ) -> None:
        """Limit."""

    given = {
        "low": 4, "high": 5.5, "short": "ab", "long": "ab", "few": [1], "much": [1, 2], "keys": {}, "step": "0.3", "data": "abc",
        "shape": "b",
        "after": "2026-01-01",
    }  # fmt: skip
    with pytest.raises(InvalidArguments) as refused:
        limits.decode(given)
    assert refused.value.problems == (
        "$.low: 4 is below minimum 5",
        "$.high: 5.5 is above maximum 5",
        "$.short: length 2 is below minLength 3",
        "$.long: length 2 is above maxLength 1",
        "$.few: 1 items is below minItems 2",
        "$.much: 2 items is above maxItems 1",
        "$.keys: 0 properties is below minProperties 1",
        "$.step: 0.3 is not a multiple of 0.5",
        "$.data: length 3 is above maxLength 2",
        "$.shape: does not match the pattern ^a+$",
        "$.after: 2026-01-01 is not above exclusiveMinimum 2026-01-01",
    )


# -- signatures ------------------------------------------------------------------------------------------------------


class NoSchema:
    pass


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        (threading.Lock, "is not a type pydantic can read and write"),
        (NoSchema, "is not a type pydantic can read and write"),
        (list[NoSchema], "is not a type pydantic can read and write"),
        (Callable[[int], int], "Cannot generate a JsonSchema"),
        (Iterable[int], "checked only while it is read; use a list"),
        (Iterator[int], "is not a type pydantic can read and write"),
        (ToolContext | str, "a ToolContext is handed in"),
        (list[ToolContext], "a ToolContext is handed in"),
        (dict[str, ToolContext | None], "a ToolContext is handed in"),
        ("Nowhere", "annotations cannot be read: name 'Nowhere' is not defined"),
        ("list[", "annotations cannot be read"),
    ],
)
def test_a_parameter_that_cannot_be_described_is_named(annotation: Any, said: str) -> None:
    """D20: when the tool is made, with no word of the others."""

    async def made(fine: int, odd: Any, also: str = "") -> None: ...

    made.__annotations__["odd"] = annotation
    with pytest.raises(ConfigError) as refused:
        tool(made)
    assert refused.value.field == "tool 'made'"
    (problem,) = refused.value.problems
    assert problem.startswith("parameter 'odd': ")
    assert said in problem
    assert "\n" not in problem
    with pytest.raises(ConfigError, match="parameter 'odd'"):
        Agent("assistant", ScriptedClient(), tools=made)


def test_every_such_parameter_is_named() -> None:
    """D20: all at once."""

    async def made(a, b: threading.Lock, c: Nowhere, d: int, /, *e: int, f: Callable[[], None], **g: int) -> None: ...  # type: ignore[no-untyped-def]  # noqa: F821 - the mistakes under test

    with pytest.raises(ConfigError) as refused:
        tool(made)
    assert [problem.partition(":")[0].partition(" has")[0] for problem in refused.value.problems] == [
        f"parameter '{name}'" for name in "abcdeg"
    ]

    async def other(a: int, b: threading.Lock, f: Callable[[], None]) -> None: ...

    with pytest.raises(ConfigError) as refused:
        tool(other)
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["parameter 'b'", "parameter 'f'"]


def test_what_a_function_returns_need_not_be_readable() -> None:
    """D20: only parameters are read."""

    async def made(x: int) -> Nowhere:  # type: ignore[name-defined]  # noqa: F821 - under test
        ...

    assert tool(made).decode({"x": 1}) == {"x": 1}


def taking(annotation: Any, default: Any = ...) -> Any:
    async def made(text: str, where: Any) -> str:
        return f"{text} {where.call_id if where else where}"

    made.__annotations__["where"] = annotation
    if default is not ...:
        made.__defaults__ = (default,)
    return (
        tool(
            made,
        )
        if False
        else tool(name="made")(made)
    )


@pytest.mark.parametrize(
    "annotation",
    [
        ToolContext,
        "ToolContext",
        Optional[ToolContext],  # noqa: UP045 - a way to write it under test
        ToolContext | None,
        Union[None, ToolContext],  # noqa: UP007 - a way to write it under test
        "ToolContext | None",
        "Optional[ToolContext]",
        Annotated[ToolContext, "mine"],
        Annotated[ToolContext | None, "mine"],
        Optional[Annotated[ToolContext, "mine"]],  # noqa: UP045 - a way to write it under test
    ],
    ids=str,
)
@pytest.mark.parametrize("default", [..., None])
async def test_a_context_is_handed_in_however_it_is_asked_for(annotation: Any, default: Any) -> None:
    """api.md: injected, and no part of the schema; optional, annotated or in quotes."""
    made = taking(annotation, default)
    assert list(made.spec.parameters["properties"]) == ["text"]
    with pytest.raises(InvalidArguments, match=r"\$.where: property not allowed"):
        made.decode({"text": "a", "where": None})
    result = await Agent("assistant", ScriptedClient(calls(call("c1", "made", text="a")), "done"), tools=made).run("go")
    assert tool_texts(result.messages) == ["a c1"]


async def test_several_parameters_may_ask_for_it() -> None:
    """api.md."""

    @tool
    async def twice(one: ToolContext, text: str, two: ToolContext | None = None) -> str:
        """Say."""
        return f"{text} {one is two}"

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "twice", text="a")), "done"), tools=twice).run("go")
    assert tool_texts(result.messages) == ["a True"]


async def test_a_method_and_a_wrapped_function_are_tools_too() -> None:
    """api.md: what the function is called with is what its own signature says."""

    class Desk:
        def __init__(self) -> None:
            self.notes: list[str] = []

        async def note(self, text: str, context: ToolContext | None = None) -> str:
            """Note it.

            Args:
                text: what
            """
            self.notes.append(text)
            return "noted"

    def logged(function: Any) -> Any:
        @functools.wraps(function)
        async def inner(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        return inner

    @logged
    async def look(level: Level, context: ToolContext) -> str:
        """Look."""
        return f"{level!r} {context.call_id}"

    desk = Desk()
    message = calls(call("c1", "note", text="a"), call("c2", "look", level="low"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[desk.note, look])
    result = await agent.run("go")
    assert tool_texts(result.messages) == ["noted", "<Level.LOW: 'low'> c2"]
    assert desk.notes == ["a"]


class Order(BaseModel):
    """An order."""

    person: Person
    level: Level = Level.LOW
    rows: Sequence[Row] = ()
    by_name: Mapping[str, Address] = {}


class Ordering(AskingTool[Order, str, bool]):
    name = "order"

    async def execute(self, args: Order, context: ToolContext) -> ToolOutcome:
        return self.ask(f"{args.person.name}, {args.level.name}?")

    async def resume(self, args: Order, question: str, answer: bool, context: ToolContext) -> Any:
        return f"{question} {answer}"


async def test_an_asking_tools_model_is_checked_in_the_same_forms() -> None:
    """3.3.6, 3.7.1: before it asks."""
    assert Ordering().spec.parameters["required"] == ["person"]
    message = calls(
        call("c1", "order", person={"name": 1}, level="mid", rows=[["x"]], by_name={"a": {}}),
        call("c2", "order", person={"name": "ana"}, level="high"),
    )
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=Ordering())
    result = await agent.run("go", thread_id="t")
    (review,) = result.pending
    assert review.question == "ana, HIGH?"
    done = await agent.resume("t", review.reply(True))
    assert json.loads(tool_texts(done.messages)[0])["error"] == (
        "Invalid arguments for 'order': $.person.name: expected string, got integer; "
        '$.level: "mid" is not one of ["low", "high"]; $.rows[0][0]: expected integer, got string; '
        "$.by_name.a.street: required property missing"
    )

"""What a model may send to a function, and how every violation is said: D20, agent.md 3.3."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, HttpUrl

from llm4s_notebook.agent import Agent, AskingTool, InvalidArguments, ToolContext, ToolOutcome, tool
from llm4s_notebook.models import ScriptedClient, calls

from .parameter_types import Address, Cat, Dog, Level, Options, Person, Rank, Row, Span
from .support import call, tool_texts


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


class Share(Enum):
    WHOLE = 1.0
    MORE = 2.5


class Mixed(Enum):
    ONE = 1
    TWO = "two"
    NOTHING = None


@pytest.mark.parametrize(
    ("annotation", "good", "wrong", "said"),
    [
        (Mixed, [1, 1.0, "two", None], True, "expected integer or string, got boolean"),
        (Mixed, [], 3, '3 is not one of [1, "two", null]'),
        (Share, [1, 1.0, 2.5], True, "expected number, got boolean"),
        (Share, [], 3, "3 is not one of [1.0, 2.5]"),
        (Literal[Rank.ONE], [1, 1.0], 2, "2 is not one of [1]"),
        (Literal[True], [True], 1.0, "expected boolean, got number"),
        (Literal[1] | str, [1, "1"], True, "expected integer or string, got boolean"),
        (Literal[1, 2] | Literal["a"] | None, [2, "a", None], True, "expected integer or string, got boolean"),
        (Literal[True, 2], [True, 2], 1, "1 is not one of [true, 2]"),
    ],
    ids=str,
)
def test_choices_of_any_kind_are_told_apart_as_json_tells_them(annotation: Any, good: list[Any], wrong: Any, said: str) -> None:
    """3.3.3, 3.3.6, D20: by themselves, in a tuple and in a model's property."""

    async def choose(x: Any, many: Any = (), named: Any = None) -> None: ...

    choose.__annotations__.update(x=annotation, many=tuple[int, annotation], named=dict[str, annotation])
    made = tool(choose)
    for value in good:
        got = made.decode({"x": value, "many": [0, value], "named": {"a": value}})
        for one in (got["x"], got["many"][1], got["named"]["a"]):
            plain = one.value if isinstance(one, Enum) else one
            assert plain == value
            assert isinstance(plain, bool) is isinstance(value, bool)
    for name, given, path in (("x", wrong, "$.x"), ("many", [0, wrong], "$.many[1]"), ("named", {"a": wrong}, "$.named.a")):
        with pytest.raises(InvalidArguments) as refused:
            made.decode({"x": good[0] if good else 1, name: given})
        assert str(refused.value) == f"{path}: {said}"


def test_an_optional_item_of_a_tuple_may_be_null() -> None:
    """3.3.6: and where it is something else, null is named."""

    @tool
    async def take(pair: tuple[int | None, str]) -> None:
        """Take."""

    assert take.decode({"pair": [None, "a"]})["pair"] == (None, "a")
    with pytest.raises(InvalidArguments, match=r"\$.pair\[0\]: expected integer or null, got string"):
        take.decode({"pair": ["x", "a"]})


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


def test_every_bound_that_a_number_breaks_is_told() -> None:
    """3.2 step 2, 3.3.6: pydantic stops at the first."""

    @tool
    async def limits(
        step: Annotated[int, Field(ge=1, le=5, multiple_of=2)] = 2,
        maybe: Annotated[float, Field(gt=0, multiple_of=0.5)] | None = None,
        many: list[Annotated[int, Field(ge=10, multiple_of=10)]] = [],  # noqa: B006 - a default under test
    ) -> None:
        """Limit."""

    with pytest.raises(InvalidArguments) as refused:
        limits.decode({"step": 9, "maybe": -0.3, "many": [20, 3.0, 5]})
    assert sorted(refused.value.problems) == [
        "$.many[1]: 3 is below minimum 10",
        "$.many[1]: 3 is not a multiple of 10",
        "$.many[2]: 5 is below minimum 10",
        "$.many[2]: 5 is not a multiple of 10",
        "$.maybe: -0.3 is not a multiple of 0.5",
        "$.maybe: -0.3 is not above exclusiveMinimum 0",
        "$.step: 9 is above maximum 5",
        "$.step: 9 is not a multiple of 2",
    ]


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

"""`@tool` and tools given as raw JSON Schema: agent.md 3.1-3.3, D20."""

from __future__ import annotations

import functools
import threading
import types
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from llm4s_notebook.agent import Agent, InvalidArguments, ToolContext, schema_tool, tool
from llm4s_notebook.agent._json_schema import schema_problems, violations
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, ToolHints, calls

from .support import call, tool_texts


def test_description_and_parameters_come_from_the_docstring():
    """D20, api.md: Google, NumPy and reST styles; an Annotated description wins."""

    @tool
    async def deploy(
        environment: Literal["staging", "prod"], version: Annotated[str, Field(description="own")], context: ToolContext
    ) -> str:
        """Deploy a release.

        It takes a while.

        Args:
            environment: where to
            version: not this
            context: never shown
        """
        return ""

    assert deploy.spec.name == "deploy"
    assert deploy.spec.description == "Deploy a release.\nIt takes a while."
    assert deploy.spec.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "environment": {"type": "string", "enum": ["staging", "prod"], "description": "where to"},
            "version": {"type": "string", "description": "own"},
        },
        "required": ["environment", "version"],
    }

    @tool
    async def rest(text: str) -> str:
        """Say it.

        :param text: what to say
        """
        return text

    assert rest.spec.parameters["properties"]["text"]["description"] == "what to say"


def test_settings_of_the_decorator():
    """api.md."""

    @tool(name="other", description="Does.", read_only=True, destructive=False, idempotent=True, open_world=False)
    async def made() -> str:
        """Not this."""
        return "x"

    assert (made.spec.name, made.spec.description) == ("other", "Does.")
    assert made.spec.hints == ToolHints(True, False, True, False)
    assert made.spec.parameters["properties"] == {}


async def test_a_tool_can_be_called_as_the_function_it_is():
    """A notebook's user tries the function out."""

    @tool
    async def double(n: int) -> int:
        """Double it."""
        return n * 2

    @tool
    def plain(n: int) -> int:
        """Double it."""
        return n * 2

    assert await double(4) == 8
    assert plain(4) == 8


def test_what_cannot_be_read_off_a_function_is_told_at_once():
    """Each parameter by name."""
    with pytest.raises(ConfigError) as refused:

        @tool
        async def bad(a, *rest: int, **more: int) -> None:  # type: ignore[no-untyped-def]  # the mistake under test
            """Bad."""

    assert len(refused.value.problems) == 3
    assert "parameter 'a' has no annotation" in refused.value.problems[0]
    with pytest.raises(ConfigError, match="is not a type pydantic can read"):

        @tool
        async def lock(a: threading.Lock) -> None:  # type: ignore[valid-type]  # the mistake under test
            """Bad."""

    with pytest.raises(ConfigError, match="annotations cannot be read"):

        @tool
        async def unknown(a: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821 - the mistake under test
            """Bad."""


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Item(BaseModel):
    name: str
    price: Decimal


async def test_rich_types_arrive_as_themselves():
    """D20: dates, decimals, enums, models, nested lists, mutable defaults."""
    got: list[Any] = []

    @tool
    async def order(
        day: date,
        level: Level,
        items: list[Item],
        extra: dict[str, int] | None = None,
        tags: list[str] = ["a"],  # noqa: B006 - a default under test
    ) -> str:
        """Order."""
        tags.append("changed")
        got.append((day, level, items, extra, tags))
        return "ok"

    arguments = {"day": "2026-11-30", "level": "high", "items": [{"name": "x", "price": "1.50"}]}
    message = calls(call("c1", "order", **arguments), call("c2", "order", **arguments, extra={"n": 1}))
    await Agent("assistant", ScriptedClient(message, "done"), tools=order).run("go")
    item = Item(name="x", price=Decimal("1.50"))
    assert sorted(got, key=lambda one: one[3] is not None) == [
        (date(2026, 11, 30), Level.HIGH, [item], None, ["a", "changed"]),
        (date(2026, 11, 30), Level.HIGH, [item], {"n": 1}, ["a", "changed"]),
    ]


async def test_parameters_may_have_names_that_pydantic_models_use():
    """`schema`, `copy` or `model_x` are fine names for a parameter."""

    @tool
    async def odd(schema: str, copy: int, model_x: bool, json: str = "j") -> str:
        """Odd."""
        return f"{schema} {copy} {model_x} {json}"

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "odd", schema="s", copy=1, model_x=True)), "done"), tools=odd).run(
        "go"
    )
    assert tool_texts(result.messages) == ["s 1 True j"]


def test_a_class_of_the_calling_function_may_be_annotated_in_quotes():
    """Annotations are text under `from __future__ import annotations`."""

    class Local(BaseModel):
        n: int

    @tool
    async def take(local: Local) -> int:
        """Take."""
        return local.n

    decoded = take.decode({"local": {"n": 3}})
    assert decoded == {"local": Local(n=3)}


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        (
            {"b": 1, "z": 1, "inner": {"y": 1}},
            "$.a: required property missing; $.z: property not allowed; $.b: expected string, got integer; ",
        ),
        ({"a": "x", "inner": {"n": "1", "y": 2}}, "$.inner.y: property not allowed; $.inner.n: expected integer, got string"),
        ({"a": "x", "many": [1, "2", 3, True]}, "$.many[1]: expected integer, got string; $.many[3]: expected integer, got boolean"),
        ({"a": "x", "many": [1, 2, 3, 4, 5]}, "$.many: 5 items is above maxItems 4"),
        ({"a": "x" * 9}, "$.a: length 9 is above maxLength 5"),
        ({"a": "x", "half": 0.3}, "$.half: 0.3 is not a multiple of 0.5"),
        ({"a": "x", "over": 1}, "$.over: 1 is not above exclusiveMinimum 1"),
        ({"a": "x", "under": 2}, "$.under: 2 is not below exclusiveMaximum 2"),
    ],
)
def test_faults_are_said_in_the_same_forms_whoever_checks(arguments: Any, problems: str):
    """3.3.6: missing, then extra, then nested in schema order."""

    class Inner(BaseModel):
        model_config = {"extra": "forbid"}
        n: int = 0

    @tool
    async def check(
        a: Annotated[str, Field(max_length=5)],
        b: str = "",
        inner: Inner | None = None,
        many: Annotated[list[int], Field(max_length=4)] = [],  # noqa: B006 - a default under test
        half: Annotated[float, Field(multiple_of=0.5)] = 0.5,
        over: Annotated[int, Field(gt=1)] = 2,
        under: Annotated[int, Field(lt=2)] = 1,
    ) -> None:
        """Check."""

    with pytest.raises(InvalidArguments) as refused:
        check.decode(arguments)
    assert str(refused.value).startswith(problems)


def test_a_raw_schema_may_only_use_what_is_then_checked():
    """3.3.5: every unsupported keyword or malformed value, wherever it is, makes the agent refuse to be built."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "x"}, "b": {"type": "text"}, "c": {"type": "array", "items": {"format": "date"}}},
        "required": "a",
        "additionalProperties": {"type": "string"},
        "minLength": -1,
        "multipleOf": 0,
        "enum": [],
    }
    found = schema_problems(schema)
    for part in (
        "$.a: keyword 'pattern' is not supported",
        "$.b: 'type' must be",
        "$.c[]: keyword 'format' is not supported",
        "$: 'required' must be",
        "$: 'additionalProperties' must be",
        "$: 'minLength' must be",
        "$: 'multipleOf' must be",
        "$: 'enum' must be",
    ):
        assert [problem for problem in found if problem.startswith(part)], part
    assert len(found) == 8
    with pytest.raises(ConfigError, match="keyword 'pattern' is not supported"):
        Agent("assistant", ScriptedClient(), tools=schema_tool("bad", "", schema, lambda _args, _context: None))


@pytest.mark.parametrize(
    ("schema", "value", "found"),
    [
        ({"type": "integer"}, 3.0, []),
        ({"type": "integer"}, 3.5, ["$: expected integer, got number"]),
        ({"type": "integer"}, True, ["$: expected integer, got boolean"]),
        ({"type": ["string", "null"]}, None, []),
        ({"type": ["string", "integer"]}, [], ["$: expected string or integer, got array"]),
        ({"multipleOf": 0.1}, 0.3, []),
        ({"multipleOf": 0.1}, 0.35, ["$: 0.35 is not a multiple of 0.1"]),
        ({"multipleOf": 3}, 1e20, ["$: 1e+20 is not a multiple of 3"]),
        ({"enum": [1, "a"]}, True, ['$: true is not one of [1,"a"]']),
        ({"enum": [1, "a"]}, 1.0, []),
        ({"minLength": 2}, "👍", ["$: length 1 is below minLength 2"]),
        ({"type": "array", "uniqueItems": True}, [1, 1.0], ["$: items are not unique"]),
        ({"type": "array", "uniqueItems": True}, [1, True, "1"], []),
        ({"type": "array", "uniqueItems": True}, [{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}], ["$: items are not unique"]),
        ({"type": "array", "uniqueItems": True}, [{"a": 1}, {"a": True}, ["a", 1], [], {}, None, "a", ["a", "1"]], []),
        ({"enum": [{"a": [1, None]}, []], "additionalProperties": True}, {"a": [1.0, None]}, []),
        (
            {"enum": [{"a": [1, None]}, []], "additionalProperties": True},
            {"a": [True, None]},
            ['$: {"a":[true,null]} is not one of [{"a":[1,null]},[]]'],
        ),
        ({"type": "array", "minItems": 1, "items": {"type": "string"}}, [], ["$: 0 items is below minItems 1"]),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1], ["$[1]: expected string, got integer"]),
        ({"type": "object", "properties": {}}, {"x": 1}, ["$.x: property not allowed"]),
        ({"type": "object", "additionalProperties": True}, {"x": 1}, []),
        ({"minimum": 1, "maximum": 0}, 0.5, ["$: 0.5 is below minimum 1", "$: 0.5 is above maximum 0"]),
        (
            {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}}, "required": ["a", "c"]},
            {"z": 1, "b": 1},
            [
                "$.a: required property missing",
                "$.c: required property missing",
                "$.z: property not allowed",
                "$.b: expected string, got integer",
            ],
        ),
    ],
)
def test_values_against_raw_schemas(schema: Any, value: Any, found: list[str]):
    """3.3.3, 3.3.5, 3.3.6."""
    assert schema_problems(schema) == []
    assert [str(fault) for fault in violations(schema, value)] == found


async def test_a_raw_tool_runs_with_the_checked_json_and_its_check():
    """3.2 step 4."""

    def execute(args: Any, context: ToolContext) -> str:
        return f"{args['q']} in {context.call_id}"

    raw = schema_tool(
        "raw",
        "Raw.",
        {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
        execute,
        check=lambda args: "not that" if args["q"] == "no" else None,
        hints=ToolHints(read_only=True),
    )
    message = calls(call("c1", "raw", q="yes"), call("c2", "raw", q="no"), call("c3", "raw"))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=raw).run("go")
    assert tool_texts(result.messages) == [
        "yes in c1",
        '{"error":"Invalid arguments for \'raw\': not that"}',
        '{"error":"Invalid arguments for \'raw\': $.q: required property missing"}',
    ]
    assert raw.spec.hints.read_only


class Options(BaseModel):
    tags: list[str] = ["a"]


async def test_a_default_is_made_anew_for_each_call():
    """D12: what one call does to a default, however deep, is not in the next one's arguments."""
    ran: list[tuple[list[str], list[list[int]], tuple[list[int], ...]]] = []

    @tool
    async def grow(options: Options = Options(), rows: list[list[int]] = [[1]], pair: tuple[list[int], int] = ([1], 2)) -> str:  # noqa: B006, B008 - the case
        """Change the defaults."""
        ran.append((list(options.tags), [list(row) for row in rows], (list(pair[0]),)))
        options.tags.append("b")
        rows[0].append(2)
        pair[0].append(2)
        return "ok"

    client = ScriptedClient(calls(call("c1", "grow")), calls(call("c2", "grow")), "done")
    assert (await Agent("assistant", client, tools=grow).run("go")).answer == "done"
    assert ran == [(["a"], [[1]], ([1],))] * 2


@pytest.mark.parametrize("thing", [functools.partial(max, 1), types.SimpleNamespace()])
def test_what_cannot_be_read_as_a_function_is_a_config_error(thing: Any):
    """D2: no foreign exception."""
    with pytest.raises(ConfigError):
        tool(thing)

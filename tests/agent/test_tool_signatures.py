"""Which functions can be tools, and what they are called with: D20, agent.md 3.1.4."""

from __future__ import annotations

import dataclasses
import functools
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import date
from enum import Enum
from typing import Annotated, Any, ClassVar, Literal, Optional, Union

import pytest
from pydantic import BaseModel, Field

from llm4s_notebook.agent import Agent, AskingTool, InvalidArguments, ToolContext, ToolOutcome, tool
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, calls

from .parameter_types import Level
from .support import call, tool_texts


class NoSchema:
    pass


class Pairs(Enum):
    A = (1, 2)
    B = 3


class Days(Enum):
    FIRST = date(2026, 1, 1)


class Sized(BaseModel):
    size: Literal["a", b"b"]


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
        (type[int], "a class, which no JSON stands for"),
        (Pairs, "the choice <Pairs.A: (1, 2)>: it is no text, number, boolean or null"),
        (list[dict[str, Days]], "the choice <Days.FIRST: datetime.date(2026, 1, 1)>"),
        (Literal[b"x"], "the choice b'x'"),
        (Sized, "the choice b'b'"),
        (Annotated[float, Field(le=float("inf"), ge=float("-inf"), json_schema_extra={"maximum": float("inf")})], "inf has no JSON form"),
        (Enum("Odd", {"A": float("nan")}), "nan has no JSON form"),  # type: ignore[misc]  # made for its member
        (ClassVar[int], "tells how a class is made"),
        (Annotated[ClassVar[list[int]], "mine"], "tells how a class is made"),
        (dataclasses.InitVar[int], "tells how a class is made"),
        (dataclasses.KW_ONLY, "tells how a class is made"),
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


def test_an_agent_names_every_function_that_cannot_be_a_tool() -> None:
    """D20, 3.1.4: all at once, with the other mistakes in its settings."""

    async def one(a: threading.Lock) -> None: ...

    async def two(b) -> None: ...  # type: ignore[no-untyped-def]  # the mistake under test

    async def fine(c: int) -> None: ...

    with pytest.raises(ConfigError) as refused:
        Agent("assistant", ScriptedClient(), tools=[one, fine, two, 5], max_steps=0)  # type: ignore[list-item]  # the mistake under test
    said = " | ".join(refused.value.problems)
    for part in ("tool 'one': parameter 'a'", "tool 'two': parameter 'b' has no annotation", "5 is no tool", "max_steps is 0"):
        assert part in said
    assert "fine" not in said


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
    return tool(name="made")(made)


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


@pytest.mark.parametrize("default", [float("nan"), float("inf"), [1.0, float("-inf")], {"a": float("nan")}], ids=repr)
async def test_a_default_that_is_no_json_is_not_told(default: Any) -> None:
    """D20: what Python writes as NaN or Infinity is no JSON; the tool has its default all the same."""

    async def made(x: Any) -> str:
        return repr(x)

    made.__defaults__ = (default,)
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "made")), "done"), tools=made)
    result = await agent.run("go")
    assert tool_texts(result.messages) == [repr(default)]
    assert made_schema(made) == {"type": "object", "properties": {"x": {}}, "additionalProperties": False}


def made_schema(function: Any) -> Any:
    """A function's schema as plain JSON. Raises: ValueError where it is none."""
    return json.loads(json.dumps(tool(function).spec.parameters, allow_nan=False))


class Tagged(BaseModel):
    share: float = float("inf")
    kind: Literal["a", b"b"] = "a"


class AskingOfNothing(AskingTool[Tagged, str, bool]):
    name = "odd"

    async def execute(self, args: Tagged, context: ToolContext) -> ToolOutcome:
        raise NotImplementedError

    async def resume(self, args: Tagged, question: str, answer: bool, context: ToolContext) -> ToolOutcome:
        raise NotImplementedError


def test_an_asking_tools_arguments_are_read_when_the_agent_is_made() -> None:
    """D20, 3.1.4."""
    with pytest.raises(ConfigError, match=r"arguments of tool 'odd': .* the choice b'b'"):
        Agent("assistant", ScriptedClient(), tools=AskingOfNothing())


def test_a_generator_is_no_tool() -> None:
    """D20, D24: what it gives would be made of it nowhere, or on the loop."""

    async def stream(x: int) -> AsyncIterator[int]:
        yield x

    def items(x: int) -> Iterator[int]:
        yield x

    @functools.wraps(items)
    def collected(x: int) -> list[int]:
        return list(items(x))

    class Rows:
        def __call__(self, x: int) -> Iterator[int]:
            yield x

    for made in (stream, items, functools.partial(items), Rows()):
        with pytest.raises(ConfigError, match=r"it is a generator, which gives no result when it is called; return a value"):
            tool(made)
    assert tool(collected).decode({"x": 1}) == {"x": 1}


async def test_a_partial_and_an_object_that_can_be_called_are_tools_too() -> None:
    """D20: an argument that a partial was given is not the model's to give."""

    async def send(to: str, text: str, context: ToolContext) -> str:
        """Send it.

        Args:
            to: whom
        """
        return f"{to}: {text} {context.call_id}"

    class Scale:
        """Weigh."""

        def __call__(self, level: "Level", function: int) -> str:  # noqa: UP037 - a name in quotes under test
            return f"{level!r} {function}"

    tools = [functools.partial(send, text="hi"), Scale()]
    message = calls(call("c1", "send", to="ana"), call("c2", "Scale", level="low", function=3), call("c3", "send", to="ana", text="no"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=tools)
    result = await agent.run("go")
    sent, weighed, refused = tool_texts(result.messages)
    assert (sent, weighed) == ("ana: hi c1", "<Level.LOW: 'low'> 3")
    assert "$.text: property not allowed" in refused
    made, scale = tool(tools[0]), tool(tools[1])
    assert (made.name, made.description, list(made.spec.parameters["properties"])) == ("send", "Send it.", ["to"])
    assert (scale.name, scale.description) == ("Scale", "Weigh.")
    assert tool(functools.partial(send, "ana", text="hi")).spec.parameters["properties"] == {}


@pytest.mark.parametrize("odd", [int, NoSchema, 5, "send"], ids=str)
def test_what_is_no_function_is_no_tool(odd: Any) -> None:
    """3.1.4: a class makes an object; whether that is what was meant cannot be told."""
    with pytest.raises(ConfigError, match="is no tool: give an AgentTool or a function"):
        Agent("assistant", ScriptedClient(), tools=[odd])


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

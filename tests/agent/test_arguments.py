"""How a call's arguments are checked: agent.md 3.2 (steps 2-4), 3.3, 10.2."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from llm4s_notebook.agent import (
    Agent,
    ToolContext,
    schema_tool,
    tool,
)
from llm4s_notebook.models import ScriptedClient, ToolCall, calls, compact

from .support import Recorder, call, tool_texts


@pytest.mark.parametrize(
    ("arguments", "detail"),
    [
        ({"q": 3}, "$.q: expected string, got integer"),
        ({"extra": 1}, "$.q: required property missing; $.extra: property not allowed"),
        ("text", "$: expected object, got string"),
        (None, "$: expected object, got null"),
        ({"q": "a", "limit": 500}, "$.limit: 500 is above maximum 100"),
        ({"q": "a", "limit": "5"}, "$.limit: expected integer, got string"),
        ({"q": "a", "limit": True}, "$.limit: expected integer, got boolean"),
        ({"q": "a", "limit": 2.5}, "$.limit: expected integer, got number"),
        ({"q": "a", "either": []}, "$.either: expected integer or string or null, got array"),
        ({"q": "a", "inner": {"n": "x"}}, "$.inner.n: expected integer or null, got string"),
        ({"q": "a", "where": "moon"}, '$.where: "moon" is not one of ["prod", "staging"]'),
        ({"q": None}, "$.q: expected string, got null"),
        ({"q": ""}, "$.q: length 0 is below minLength 1"),
    ],
)
async def test_arguments_are_checked_strictly_before_any_wrapper_or_the_tool(arguments: Any, detail: str):
    """TOOL-11, TOOL-26, 3.3.2, 3.3.3, 3.3.6, D20."""
    recorder = Recorder()
    ran: list[str] = []

    class Inner(BaseModel):
        n: int | None

    @tool
    async def lookup(
        q: Annotated[str, Field(min_length=1)],
        limit: Annotated[int, Field(ge=1, le=100)] = 10,
        either: int | str | None = None,
        where: Literal["prod", "staging"] = "prod",
        inner: Inner | None = None,
    ) -> str:
        """Look up."""
        ran.append(q)
        return q

    agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "lookup", arguments)), "done"), tools=lookup, middleware=recorder)
    result = await agent.run("go")
    assert tool_texts(result.messages) == [compact({"error": f"Invalid arguments for 'lookup': {detail}"})]
    assert (recorder.seen, ran) == ([], [])


async def test_what_validates_is_taken_as_it_is_with_defaults():
    """TOOL-15, 3.3.1, 3.3.3: optional fields may be left out, and a whole-valued float is an integer."""
    got: list[Any] = []

    class Where(BaseModel):
        city: str
        floor: int = 0

    @tool
    async def lookup(q: str, limit: int = 10, where: Where | None = None, tags: list[str] | None = None) -> str:
        """Look up."""
        got.append((q, limit, where, tags))
        return "ok"

    message = calls(
        call("c1", "lookup", q="a"),
        call("c2", "lookup", q="b", limit=3.0, where={"city": "x", "floor": 2.0}),
        call("c3", "lookup", q="c", tags=["t"]),
    )
    await Agent("assistant", ScriptedClient(message, "done"), tools=lookup).run("go")
    assert sorted(got, key=lambda one: one[0]) == [
        ("a", 10, None, None),
        ("b", 3, Where(city="x", floor=2), None),
        ("c", 10, None, ["t"]),
    ]
    assert type(next(one for one in got if one[0] == "b")[1]) is int


async def test_schema_valid_arguments_that_do_not_decode_are_an_error_result():
    """TOOL-12."""
    ran: list[Any] = []

    class Mismatched(BaseModel):
        n: int

    async def execute(args: Any, _context: ToolContext) -> str:
        ran.append(args)
        return "ran"

    mismatched = schema_tool("mismatched", "", {"type": "object", "properties": {"n": {"type": "string"}}}, execute, arguments=Mismatched)
    result = await Agent("assistant", ScriptedClient(calls(call("c1", "mismatched", n="x")), "done"), tools=mismatched).run("go")
    assert tool_texts(result.messages)[0].startswith('{"error":"Invalid arguments for \'mismatched\': $.n: ')
    assert ran == []


async def test_a_raw_tools_type_takes_a_whole_valued_float_too():
    """3.3.3, 3.2: what the schema lets pass for an integer is one, and what it does not is said in the same forms."""

    class Typed(BaseModel):
        n: int
        names: list[str] = []

    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "names": {"type": "array"}}}
    made = schema_tool("typed", "", schema, lambda args, _context: f"{args.n!r}", arguments=Typed)
    message = calls(call("c1", "typed", n=3.0), call("c2", "typed", n=3, names=["a", 1]))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=made).run("go")
    assert tool_texts(result.messages) == ["3", '{"error":"Invalid arguments for \'typed\': $.names[1]: expected string, got integer"}']


async def test_the_tools_own_check_refuses():
    """TOOL-13: by raising, or by returning why."""

    def raising(n: int) -> None:
        if n > 3:
            raise ValueError("too many")

    @tool(check=raising)
    async def checked(n: int) -> int:
        """Check."""
        return n

    @tool(check=lambda n: "odd" if n % 2 else None)
    async def even(n: int) -> int:
        """Check."""
        return n

    message = calls(call("c1", "checked", n=5), call("c2", "even", n=1), call("c3", "even", n=2))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=[checked, even]).run("go")
    assert tool_texts(result.messages) == [
        '{"error":"Invalid arguments for \'checked\': too many"}',
        '{"error":"Invalid arguments for \'even\': odd"}',
        "2",
    ]


async def test_a_validator_that_raises_refuses_the_call_with_its_message():
    """TOOL-14, 3.2.1."""

    def broken(value: str) -> str:
        raise RuntimeError("validator broke")

    @tool
    async def lookup(q: Annotated[str, AfterValidator(broken)]) -> str:
        """Look up."""
        return q

    result = await Agent("assistant", ScriptedClient(calls(call("c1", "lookup", q="a")), "done"), tools=lookup).run("go")
    assert tool_texts(result.messages) == ['{"error":"Invalid arguments for \'lookup\': validator broke"}']


async def test_null_arguments_stand_for_nothing_where_nothing_is_required():
    """TOOL-16, 3.3.4."""

    @tool
    async def plain(note: str = "none") -> str:
        """Needs nothing."""
        return f"ran with {note}"

    @tool
    async def needs_text(text: str) -> str:
        """Needs text."""
        return text

    message = calls(ToolCall("c1", "plain", None), ToolCall("c2", "needs_text", None))
    result = await Agent("assistant", ScriptedClient(message, "done"), tools=[plain, needs_text]).run("go")
    assert tool_texts(result.messages) == [
        "ran with none",
        '{"error":"Invalid arguments for \'needs_text\': $: expected object, got null"}',
    ]

"""What the transcript shows of a tool's result: an error as its sentence, anything else as it is stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, Success, ToolError, ToolOutcome, tool
from llm4s_notebook.agent._messages import error_in
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session
from llm4s_notebook.wire import for_browser

HOSTILE = 'no "disk" \ud800 \x1b[31m \u202e {"error": "x"}\n</script>'


async def shown(outcome: ToolOutcome) -> tuple[str, bool]:
    @tool
    async def look() -> Any:
        """Look."""
        return outcome

    session = Session(Agent("a", ScriptedClient(calls(ToolCall("c1", "look", {})), "out"), tools=look), "t")
    await session.run("go")
    document = for_browser(session.state())
    json.dumps(document, ensure_ascii=False).encode()  # a kernel sends it as UTF-8
    (told,) = [message for message in document["messages"] if message["role"] == "tool"]
    return told["text"], told["is_error"]


async def test_a_result_that_looks_like_an_error_is_shown_as_the_result_it_is() -> None:
    """W4.1: a tool may well give such JSON, or such text."""
    assert await shown(Success({"error": "disk full"})) == ('{"error":"disk full"}', False)
    assert await shown(Success('{"error":"disk full"}')) == ('{"error":"disk full"}', False)


async def test_an_error_is_shown_as_the_tool_wrote_it() -> None:
    """W4.1, F33: also one that is itself such JSON, or that nothing can print."""
    assert await shown(ToolError('{"error":"disk full"}')) == ('{"error":"disk full"}', True)
    assert await shown(ToolError(HOSTILE)) == (HOSTILE.replace("\ud800", "\\ud800"), True)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[1]",
        '"x"',
        '{"error":1}',
        '{"error":""}',
        '{"error":" "}',
        '{"error":"a","b":1}',
        "[" * 100_000,
        '{"error":' + "9" * 5000 + "}",
    ],
)
def test_what_is_no_such_error_is_shown_as_it_is_stored(content: str) -> None:
    assert error_in(content) == content


def test_a_lone_surrogate_in_a_stored_error_is_written_out() -> None:
    """A message that somebody put into the history need not be the agent's own writing."""
    assert error_in('{"error":"\\ud800"}') == "\\ud800"

from __future__ import annotations

import pytest

from llm4s_notebook.models import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    conversation_problems,
    message_problems,
)

_CALL = AssistantMessage(None, (ToolCall("c1", "echo"), ToolCall("c2", "echo")))


def test_a_whole_conversation_has_no_problem():
    """1.3.5: results directly after their message, in any order."""
    messages: list[Message] = [
        SystemMessage("s"),
        UserMessage("u"),
        _CALL,
        ToolMessage("2", "c2"),
        ToolMessage("1", "c1"),
        AssistantMessage("done"),
    ]
    assert conversation_problems(messages) == []


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([UserMessage("u"), _CALL, ToolMessage("1", "c1"), UserMessage("v")], "tool call 'c2' has no result straight after it"),
        ([UserMessage("u"), _CALL], "tool call 'c1' has no result straight after it"),
        ([UserMessage("u"), ToolMessage("1", "c9")], "tool result 'c9' does not follow a tool call of that id"),
        (
            [_CALL, ToolMessage("1", "c1"), ToolMessage("2", "c2"), ToolMessage("2", "c2")],
            "tool result 'c2' does not follow a tool call of that id",
        ),
        ([UserMessage("u"), SystemMessage("s")], "a system message may only come first"),
    ],
)
def test_what_is_wrong_is_named(messages: list[Message], problem: str):
    """1.3.5."""
    assert problem in conversation_problems(messages)


@pytest.mark.parametrize(
    ("message", "problems"),
    [
        (AssistantMessage(None, (ToolCall("a", "t"), ToolCall("a", "t"))), ["tool call id 'a' is used more than once"]),
        (AssistantMessage(None, (ToolCall(" ", "t"),)), ["a tool call has a blank id"]),
        (AssistantMessage(None, (ToolCall("\u200b", "t"),)), ["a tool call has a blank id"]),
        (AssistantMessage("  "), ["the answer is blank and has no tool calls"]),
        (AssistantMessage(None), ["the answer is blank and has no tool calls"]),
        (AssistantMessage("", (ToolCall("a", "t"),)), []),
    ],
)
def test_what_keeps_a_models_message_from_being_stored(message: AssistantMessage, problems: list[str]):
    """1.3.5, TOOL-36, TOOL-37."""
    assert message_problems(message) == problems


def test_messages_before_the_first_are_taken_as_checked():
    """D17: only what is new is looked at."""
    messages: list[Message] = [ToolMessage("stray", "c0"), UserMessage("u"), AssistantMessage("done")]
    assert conversation_problems(messages, first=1) == []


def test_results_that_follow_a_checked_message_are_of_its_calls():
    """D17, 1.3.5: the calls of the last message that was checked are open."""
    results: list[Message] = [ToolMessage("2", "c2"), ToolMessage("1", "c1")]
    assert conversation_problems([_CALL, *results], first=1) == []
    assert conversation_problems([_CALL, results[0]], first=1) == ["tool call 'c1' has no result straight after it"]
    assert conversation_problems([UserMessage("u"), results[0]], first=1) == ["tool result 'c2' does not follow a tool call of that id"]

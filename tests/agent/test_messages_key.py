"""What may be done to the stored history and the open batch's results: agent.md 1.2.3, 1.3.3, 1.3.6."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent._messages import (
    TOOL_RESULTS,
    AppendMessages,
    EditCall,
    RecordedResult,
    RemoveThrough,
    RemoveTurn,
    ReplaceMessage,
    error_text,
    result_text,
    updated,
)
from llm4s_notebook.agent._turn import USAGE, UsageEntry
from llm4s_notebook.models import AssistantMessage, Message, ToolCall, ToolMessage, Usage, UsageSummary, UserMessage

HISTORY: list[Message] = [
    UserMessage("one", "u1"),
    AssistantMessage(None, (ToolCall("c1", "t", {"a": 1}), ToolCall("c2", "t", {"a": 2})), "a1"),
    ToolMessage("r1", "c1", id="t1"),
    ToolMessage("r2", "c2", id="t2"),
    AssistantMessage("answer", id="a2"),
    UserMessage("two", "u2"),
    AssistantMessage("again", id="a3"),
]


def ids(messages: list[Message]) -> list[str]:
    return [message.id for message in messages]


def test_messages_are_added_at_the_end_and_the_others_stay_the_same_objects():
    """1.3.3, D17."""
    made = updated(HISTORY, AppendMessages((UserMessage("three", "u3"),)))
    assert ids(made) == [*ids(HISTORY), "u3"]
    assert all(one is other for one, other in zip(made, HISTORY, strict=False))


def test_a_message_is_replaced_by_its_id():
    """1.3.3, 4.1.5."""
    made = updated(HISTORY, ReplaceMessage(AssistantMessage("better", id="a2")))
    assert made[4] == AssistantMessage("better", id="a2")
    assert ids(made) == ids(HISTORY)


def test_everything_through_a_message_is_removed():
    """1.3.3."""
    assert ids(updated(HISTORY, RemoveThrough("a2"))) == ["u2", "a3"]


def test_a_turn_is_removed_up_to_the_next_user_message():
    """1.3.3, 6.1.4."""
    assert ids(updated(HISTORY, RemoveTurn("u1"))) == ["u2", "a3"]
    assert ids(updated(HISTORY, RemoveTurn("u2"))) == ["u1", "a1", "t1", "t2", "a2"]


def test_edits_of_two_calls_of_one_message_compose():
    """1.3.3."""
    made = updated(updated(HISTORY, EditCall("a1", "c2", {"a": 20})), EditCall("a1", "c1", {"a": 10}))
    message = made[1]
    assert isinstance(message, AssistantMessage)
    assert message.tool_calls == (ToolCall("c1", "t", {"a": 10}, edited=True), ToolCall("c2", "t", {"a": 20}, edited=True))
    assert made[0] is HISTORY[0]


@pytest.mark.parametrize(
    ("update", "problem"),
    [
        (AppendMessages((UserMessage("x", "u1"),)), "message 'u1' exists already"),
        (AppendMessages((UserMessage("x", "n"), UserMessage("y", "n"))), "message 'n' exists already"),
        (AppendMessages((UserMessage("x"),)), "needs an id"),
        (ReplaceMessage(UserMessage("x", "nobody")), "no message 'nobody'"),
        (RemoveThrough("nobody"), "no message 'nobody'"),
        (RemoveTurn("nobody"), "no message 'nobody'"),
        (RemoveTurn("a1"), "is no user message"),
        (EditCall("nobody", "c1", {}), "no message 'nobody'"),
        (EditCall("a1", "c9", {}), "has no tool call 'c9'"),
        (EditCall("u1", "c1", {}), "has no tool call 'c1'"),
    ],
)
def test_what_does_not_fit_the_history_is_refused(update: Any, problem: str):
    """1.3.3."""
    with pytest.raises(ValueError, match=problem):
        updated(HISTORY, update)


def test_a_second_result_of_one_call_is_refused():
    """1.2.3: of the same message and call; a call id of another message is another call."""
    one = RecordedResult("a1", "2.0", ToolMessage("r", "c1"))
    results = TOOL_RESULTS.reduce([], one)
    with pytest.raises(ValueError, match="call 'c1' of message 'a1' has a result already"):
        TOOL_RESULTS.reduce(results, RecordedResult("a1", "3.0", ToolMessage("other", "c1")))
    assert len(TOOL_RESULTS.reduce(results, RecordedResult("a2", "3.0", ToolMessage("r", "c1")))) == 2


def test_usage_adds_one_entry_per_completion():
    """1.5.2."""
    assert USAGE.reduce(UsageSummary(), UsageEntry("m", Usage(1, 2))).requests == 1


@pytest.mark.parametrize(("content", "text"), [("a", "a"), ("", '""'), ({"a": "ü"}, '{"a":"ü"}'), (None, "null"), (1.5, "1.5")])
def test_results_and_errors_as_text(content: Any, text: str):
    """1.3.6."""
    assert result_text(content) == text
    assert error_text("no") == '{"error":"no"}'

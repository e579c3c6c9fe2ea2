from __future__ import annotations

import copy
import pickle
from enum import StrEnum
from typing import Any

import pytest
from pydantic import TypeAdapter

from llm4s_notebook.errors import EncodeError
from llm4s_notebook.models import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage, freeze, thaw


class Colour(StrEnum):
    RED = "red"


def test_a_calls_arguments_cannot_be_changed_at_any_depth():
    """D12: whoever sees a call sees it read-only."""
    call = ToolCall("c1", "deploy", {"to": ["a", {"b": 1}]})
    for change in (
        lambda: call.arguments.__setitem__("to", 1),
        lambda: call.arguments.update(to=1),
        lambda: call.arguments.pop("to"),
        lambda: call.arguments["to"].append(2),
        lambda: call.arguments["to"][1].clear(),
        lambda: call.arguments["to"].__iadd__([1]),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert call.arguments == {"to": ["a", {"b": 1}]}


def test_later_changes_to_what_was_passed_in_do_not_reach_the_call():
    """D12."""
    given: dict[str, Any] = {"to": ["a"]}
    call = ToolCall("c1", "deploy", given)
    given["to"].append("b")
    assert call.arguments == {"to": ["a"]}


def test_copies_of_frozen_json_can_be_changed():
    """A tool that wants to work on its arguments copies them."""
    frozen = freeze({"a": [1]})
    deep = copy.deepcopy(frozen)
    deep["a"].append(2)
    assert (deep, thaw(frozen), frozen) == ({"a": [1, 2]}, {"a": [1]}, {"a": [1]})
    assert pickle.loads(pickle.dumps(frozen)) == frozen


@pytest.mark.parametrize(
    ("value", "where"), [({"a": {1, 2}}, r"\$\.a"), ({"a": [float("nan")]}, r"\$.a\[0\]"), ({1: "a"}, "not a string"), (object(), r"\$")]
)
def test_what_has_no_json_form_is_refused_naming_the_place(value: Any, where: str):
    """A call's arguments are JSON (1.3.1)."""
    with pytest.raises(EncodeError, match=where):
        freeze(value)


def test_subclasses_of_plain_values_become_plain_values():
    """An enum member in arguments is its text."""
    made = freeze({"colour": Colour.RED, "n": (1, 2.5, True, None)})
    assert made == {"colour": "red", "n": [1, 2.5, True, None]}
    assert type(made["colour"]) is str


def test_messages_survive_json():
    """1.3.1: every kind, with its id."""
    adapter: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
    messages: list[Message] = [
        SystemMessage("be kind"),
        UserMessage("hi", "0.0/user"),
        AssistantMessage(None, (ToolCall("c1", "deploy", {"what": "ü"}, edited=True),), "1.0/assistant"),
        ToolMessage("no", "c1", True, "denied", "3.0/tool/c1"),
    ]
    assert adapter.validate_json(adapter.dump_json(messages), strict=True) == messages

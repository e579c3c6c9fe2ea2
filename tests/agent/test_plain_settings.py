"""Settings of an agent that are plain values: what is none of its kind is refused when the agent is made or changed (2.1, 2.4)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import AssistantMessage, ScriptedClient, SystemMessage, is_blank, message_problems

WRONG: list[tuple[str, Any, str]] = [
    ("system_prompt", 5, "system_prompt is int, and must be a text"),
    ("system_prompt", ["Be brief."], "system_prompt is list, and must be a text"),
    ("system_prompt", "\ud83d", "half a character, at position 0"),
    ("description", 5, "description is int, and must be a text"),
    ("version", 5, "version is int, and must be a text"),
    ("version", "v\udc00", "half a character, at position 1"),
    ("version", "", "version is empty"),
    ("max_steps", "5", "max_steps is '5', and must be a whole number"),
    ("max_steps", 2.5, "max_steps is 2.5, and must be a whole number"),
    ("max_steps", True, "max_steps is True, and must be a whole number"),
    ("max_steps", None, "max_steps is None, and must be a whole number"),
    ("stream", "no", "stream is 'no', and must be True or False"),
    ("middleware", 5, "middleware: 5 is neither one nor several"),
    ("middleware", None, "middleware: None is neither one nor several"),
    ("handoffs", 5, "handoffs: 5 is neither one nor several"),
    ("interrupt_before", 5, "interrupt_before: 5 is neither one nor several"),
    ("id", None, "agent id None must match"),
]


@pytest.mark.parametrize(("setting", "value", "says"), WRONG)
def test_a_setting_of_another_kind_is_refused_by_name(setting: str, value: Any, says: str) -> None:
    """2.1, 2.4: by `with_` as by the constructor, and the agent that was changed is as it was."""
    agent = Agent("a", ScriptedClient("fine"), system_prompt="Be brief.")
    for make in (agent.with_, lambda **changes: Agent(**{"id": "a", "client": ScriptedClient(), **changes})):
        with pytest.raises(ConfigError) as refused:
            make(**{setting: value})
        assert refused.value.field == setting
        assert says in refused.value.what
    assert agent.settings.system_prompt == "Be brief."


def test_all_that_is_wrong_is_told_at_once() -> None:
    """2.1."""
    wrong: dict[str, Any] = {"system_prompt": 5, "max_steps": "5", "stream": 1, "handoffs": 5, "client": 7}
    with pytest.raises(ConfigError) as refused:
        Agent("a", ScriptedClient()).with_(**wrong)
    assert len(refused.value.problems) == 5


BLANK = ["", " \n\t", "\u200b", "\u2060\ufeff", "\u202e\u202c \u00ad", "\x00"]


@pytest.mark.parametrize("prompt", BLANK, ids=ascii)
async def test_a_prompt_of_which_nothing_is_seen_is_none(prompt: str) -> None:
    """1.3.4: a provider refuses an empty one, and what has no width is not what anybody meant to send. It counts as no change."""
    client = ScriptedClient("fine")
    agent = Agent("a", client, system_prompt=prompt)
    await agent.run("go")
    assert [message for message in client.requests[0].messages if isinstance(message, SystemMessage)] == []
    assert agent.settings.system_prompt is None
    assert agent.graph.version == Agent("a", client).graph.version


@pytest.mark.parametrize("query", BLANK, ids=ascii)
async def test_a_query_of_which_nothing_is_seen_is_blank(query: str) -> None:
    """1.4.2."""
    client = ScriptedClient("fine")
    with pytest.raises(ConfigError, match="the query is blank"):
        await Agent("a", client).run(query)
    assert client.requests == []


@pytest.mark.parametrize("answer", BLANK, ids=ascii)
async def test_an_answer_of_which_nothing_is_seen_is_blank(answer: str) -> None:
    """1.3.5."""
    assert message_problems(AssistantMessage(answer)) == ["the answer is blank and has no tool calls"]


@pytest.mark.parametrize("text", ["x", " \u200bx", "👩\u200d🚀", "שלום", "0", "\ue000"], ids=ascii)
def test_what_has_one_thing_to_see_is_not_blank(text: str) -> None:
    """1.4.2: also in scripts that are written with marks that are not seen."""
    assert not is_blank(text)

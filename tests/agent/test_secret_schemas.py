"""What a schema says of its secrets, and values hidden by it: agent.md 3.8.1, 3.8.7."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr, TypeAdapter

from llm4s_notebook.agent import Agent, SecretPlaces, hide_secrets, tool
from llm4s_notebook.agent._call_secrets import CALL_SECRETS
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import ScriptedClient, calls

from .secrecy import DOTS, OTHERS, Login, connect, two_logins
from .support import call, deploy_into, policy


def test_a_schema_says_nothing_of_the_defaults_of_secrets() -> None:
    """3.8.1: a default runs, and neither the model nor a form sees it, nor the asterisks that it prints as."""

    class Settings(BaseModel):
        key: SecretBytes = Field(b"from-the-class", validate_default=True, examples=["from-an-example"])  # type: ignore[arg-type]  # decoded
        name: str = "plain"

    in_code, in_class = SecretStr("from-the-code"), Settings()

    @tool
    async def sign_in(password: SecretStr = in_code, settings: Settings = in_class, default: str = "kept") -> None:
        """Sign in."""

    text = json.dumps(sign_in.spec.parameters)
    assert "from-the-code" not in text
    assert "from-the-class" not in text
    assert "from-an-example" not in text
    assert "***" not in text
    assert sign_in.spec.parameters["properties"]["default"] == {"type": "string", "default": "kept"}
    assert sign_in.spec.parameters["$defs"]["Settings"]["properties"]["name"]["default"] == "plain"
    assert sign_in.decode({})["password"].get_secret_value() == "from-the-code"


async def test_the_form_takes_dots_whatever_a_secret_must_be() -> None:
    """3.8.4: a secret of at least twelve characters may be left as it is, which is eight dots."""

    @tool
    async def sign_in(password: Annotated[SecretStr, Field(min_length=12, description="long")], number: Secret[int]) -> None:
        """Sign in."""

    message = calls(call("c1", "sign_in", password="a" * 12, number=12345))
    agent = Agent("assistant", ScriptedClient(message), tools=sign_in, middleware=policy("sign_in"))
    (review,) = (await agent.run("go")).pending
    assert review.arguments == {"password": DOTS, "number": OTHERS}
    properties = (review.arguments_schema or {})["properties"]
    assert properties["password"] == {"type": "string", "format": "password", "writeOnly": True, "description": "long"}
    assert properties["number"] == {"writeOnly": True}
    assert sign_in.spec.parameters["properties"]["password"]["minLength"] == 12


def test_the_key_of_secrets_is_the_loops_and_there_only_where_a_tool_has_secrets() -> None:
    """1.2.1, 1.2.2, 3.8.2."""

    def keys(agent: Agent) -> set[str]:
        return {key.id for key in agent.graph.keys}

    without = Agent("assistant", ScriptedClient(), tools=deploy_into([]))
    assert keys(Agent("assistant", ScriptedClient(), tools=connect)) == keys(without) | {"call-secrets"}

    @tool(writes=[CALL_SECRETS])
    async def thief() -> None:
        """Write what is not its own."""

    with pytest.raises(ConfigError, match=r"tool 'thief' declares a key the loop owns \(call-secrets\)"):
        Agent("assistant", ScriptedClient(), tools=thief)


def test_a_value_can_be_hidden_by_its_schema_for_a_log() -> None:
    """3.8.7: `hide_secrets` for whoever writes down what was answered."""
    schema = TypeAdapter(Login).json_schema()
    assert hide_secrets({"user": "ana", "password": "hunter2"}, schema) == {"user": "ana", "password": DOTS}
    assert hide_secrets({"user": "ana"}, {"type": "object"}) == {"user": "ana"}


async def test_the_schema_of_an_answer_hides_an_edit() -> None:
    """3.8.7."""
    agent = Agent("assistant", ScriptedClient(two_logins()), tools=connect, middleware=policy("connect"))
    (review,) = (await agent.run("go")).pending
    answer = review.edit({"logins": [{"user": "a", "password": "typed"}], "comment": "c"})
    assert hide_secrets(answer.value, review.answer_schema) == {
        "decision": "edit",
        "arguments": {"logins": [{"user": "a", "password": DOTS}], "comment": "c"},
    }


class Tree(BaseModel):
    key: SecretStr | None = None
    children: list[Tree] = []
    by_name: dict[str, Tree] = {}
    label: str = ""


TREES = st.recursive(
    st.fixed_dictionaries({"key": st.none() | st.text(), "label": st.text("•a*", max_size=12)}),
    lambda inner: st.fixed_dictionaries(
        {
            "key": st.text("•*k", max_size=12),
            "children": st.lists(inner, max_size=3),
            "by_name": st.dictionaries(st.text(max_size=3), inner, max_size=2),
        }
    ),
    max_leaves=8,
)


@given(TREES)
def test_hiding_and_revealing_gives_the_value_back(tree: Any) -> None:
    """3.8.2: for every value, recursive types too; each secret has its own dots; the rest is as it was."""
    places = SecretPlaces.of(TypeAdapter(Tree).json_schema())
    assert places is not None
    shown, values = places.hide(tree)
    back = places.reveal(shown, values)
    assert back.value == tree
    assert not back.lost
    assert len(set(values)) == len(values)
    assert not [label for label in _labels(shown) if label in values]


def _labels(value: Any) -> list[str]:
    if isinstance(value, list):
        return [label for item in value for label in _labels(item)]
    if isinstance(value, dict):
        inner = [item for name, item in value.items() if name in ("children", "by_name")]
        more = [label for item in inner for label in (_labels(item) if isinstance(item, list) else _labels(list(item.values())))]
        return [value["label"], *more] if "label" in value else more
    return []


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_whatever_a_model_sends_a_place_of_secrets_shows_dots(value: Any) -> None:
    """3.8.1: hostile shapes raise nothing, and every text where a secret may be is dots."""
    places = SecretPlaces.of(TypeAdapter(dict[str, SecretStr]).json_schema())
    assert places is not None
    shown, values = places.hide(value)
    assert places.reveal(shown, values).value == value
    if isinstance(value, dict):
        assert all(item is None or (isinstance(item, str) and set(item) <= {"•", "*"}) for item in shown.values())
    elif value is not None:
        assert shown in values or shown == value

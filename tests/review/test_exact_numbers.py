"""Whole numbers that a browser cannot hold: shown, edited and sent digit by digit (W2.8, W2.9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.agent import Agent, AskingTool, NeedsApproval, Success, ToolContext, ToolOutcome, tool
from llm4s_notebook.graph import BreakpointPhase
from llm4s_notebook.models import Completion, ModelRequest, ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session
from llm4s_notebook.wire import _exact, as_numbers, for_browser

from .browser import Browser, settled

LARGE = 2**53 + 1  # 9007199254740993, which a browser reads as ...992
PLACES: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "js/tests/fixtures/exact_places.json").read_text())


def holding(shape: Any, what: object) -> Any:
    """The value of a place, with something put where it says "$"."""
    if isinstance(shape, dict):
        return {name: holding(item, what) for name, item in shape.items()}
    return [holding(item, what) for item in shape] if isinstance(shape, list) else what if shape == "$" else shape


@pytest.mark.parametrize("place", PLACES, ids=[place["name"] for place in PLACES])
@pytest.mark.parametrize("number", [LARGE, -LARGE, 2**63 - 1, 10**40])
def test_digits_are_a_number_where_a_whole_number_is_taken_and_no_text_could_be_meant(place: dict[str, Any], number: int) -> None:
    """The browser's tests read the same places."""
    sent = holding(place["value"], str(number))
    assert as_numbers(sent, place["schema"]) == (holding(place["value"], number) if place["exact"] else sent)


@pytest.mark.parametrize(
    "text", ["12", "9007199254740991", "9007199254740993.0", "+9007199254740993", " 9007199254740993", "٩" * 20, "9" * 5000]
)
def test_what_a_browser_can_hold_or_is_no_plain_number_stays_what_it_was(text: str) -> None:
    """D4: "12" is no number, in no form."""
    assert as_numbers({"id": text}, {"type": "object", "properties": {"id": {"type": "integer"}}}) == {"id": text}


def test_a_value_deeper_than_anybody_nests_is_left_alone() -> None:
    """F33: no recursion is gone through to its end."""
    value: Any = str(LARGE)
    for _ in range(800):
        value = [value]
    assert as_numbers(value, {"$ref": "#/$defs/L", "$defs": {"L": {"type": "array", "items": {"$ref": "#/$defs/L"}}}}) is value


def expression(depth: int) -> Any:
    """The schema of a tree whose nodes are of four kinds, and a tree of it so deep, with a number at the end."""
    kinds = [f"K{number}" for number in range(4)]
    node = {"anyOf": [{"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds]}, {"type": "null"}]}
    fields = {"left": node, "value": {"type": "integer"}}
    schema = {"$defs": {kind: json.loads(json.dumps({"type": "object", "properties": fields})) for kind in kinds}, **node}
    value: Any = {"value": LARGE}
    for _ in range(depth):
        value = {"left": value}
    return value, schema


def test_the_schemas_of_a_place_do_not_double_with_each_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """F33: of a union whose members lead to the same union again each member is looked at once at every level."""
    looked: list[int] = []
    members = _exact._members

    def counted(*given: Any) -> Any:
        looked[-1] += 1
        return members(*given)

    monkeypatch.setattr(_exact, "_members", counted)
    for depth in (3, 4, 5):
        looked.append(0)
        value, schema = expression(depth)
        assert str(LARGE) in json.dumps(_exact.as_texts(value, schema))
    assert looked[2] - looked[1] == looked[1] - looked[0] > 0


class Account(BaseModel):
    number: int
    label: str = ""


class AskAccount(AskingTool[Account, Account, Account]):
    name = "account"
    description = "Ask which account."

    async def execute(self, args: Account, context: ToolContext) -> ToolOutcome:
        return self.ask(args)

    async def resume(self, args: Account, question: Account, answer: Account, context: ToolContext) -> ToolOutcome:
        return Success(f"{answer.number} {answer.label}")


ran: list[tuple[int, str]] = []


@tool
async def pay(number: int, label: str, context: ToolContext) -> str | NeedsApproval:
    """Pay to an account."""
    if not context.approved:
        return NeedsApproval("money leaves")
    ran.append((number, label))
    return "paid"


def paying(*script: Any) -> Session:
    ran.clear()
    return Session(Agent("till", ScriptedClient(*script), tools=[pay, AskAccount()]), "t")


async def test_an_approval_shows_every_digit_and_an_edit_of_another_field_keeps_them() -> None:
    """D12, W2.2: what is shown is what runs."""
    session = paying(calls(ToolCall("c1", "pay", {"number": LARGE, "label": str(LARGE)})), "done")
    await session.run("pay")
    document = for_browser(session.state())
    (card,) = document["pending"]
    assert card["arguments"] == {"number": str(LARGE), "label": str(LARGE)}
    assert document["messages"][-1]["tool_calls"][0]["arguments"]["number"] == str(LARGE)
    assert session.state().pending[0].arguments == {"number": LARGE, "label": str(LARGE)}  # in code it is the number
    edit = {"decision": "edit", "id": card["id"], "arguments": {**card["arguments"], "label": "rent"}}
    assert (await Browser(session).submit(edit)).kind == "done"
    await settled(session)
    assert ran == [(LARGE, "rent")]


async def test_a_held_call_shows_every_digit_and_says_what_of_it_is_a_number() -> None:
    """W2.5, W2.11: nothing of it is edited, so that it has no form; it is copied with numbers that are numbers."""
    session = paying(calls(ToolCall("c1", "pay", {"number": LARGE, "label": str(LARGE)})), "done")
    session.breakpoints.hold("till/call-tool", BreakpointPhase.BEFORE)
    await session.run("pay")
    (card,) = for_browser(session.state())["pending"]
    assert (card["kind"], card["arguments"]) == ("BREAKPOINT", {"number": str(LARGE), "label": str(LARGE)})
    assert as_numbers(card["arguments"], card["arguments_schema"]) == {"number": LARGE, "label": str(LARGE)}


@pytest.mark.parametrize("value", [{"a": [1, {"b": LARGE}, str(LARGE)]}, [[LARGE], [str(LARGE)]], LARGE])
def test_the_marks_of_a_value_bring_it_back(value: Any) -> None:
    """W2.11."""
    marks = _exact.marks_of(value)
    assert as_numbers(_exact.to_look_at(value), marks) == value
    assert _exact.to_look_at(value) == _exact.as_texts(value, marks)
    assert _exact.marks_of({"a": [1, str(LARGE)]}) is None


async def test_a_number_that_was_typed_digit_by_digit_is_the_answer() -> None:
    """W2.3: the tool gets the number; the label, a text, stays a text."""
    session = paying(calls(ToolCall("c1", "account", {"number": 1})), "done")
    await session.run("which?")
    (card,) = session.state().pending
    value = {"number": str(LARGE), "label": str(LARGE)}
    assert (await Browser(session).submit({"decision": "reply", "id": card.id, "value": value})).kind == "done"
    await settled(session)
    assert [message.text for message in session.state().messages if message.role == "tool"] == [f"{LARGE} {LARGE}"]


async def test_a_small_number_sent_as_text_is_refused_as_ever() -> None:
    """D4, D25."""
    session = paying(calls(ToolCall("c1", "pay", {"number": 1, "label": "rent"})), "done")
    await session.run("pay")
    (card,) = session.state().pending
    refused = await Browser(session).submit({"decision": "edit", "id": card.id, "arguments": {"number": "12", "label": "rent"}})
    assert (refused.kind, refused.problems[0].path) == ("refused", ["arguments", "number"])
    assert ran == []


class Seeded:
    """A client with one option, which may be large."""

    def __init__(self, seed: int | None = None) -> None:
        self.seed = seed

    async def complete(self, request: ModelRequest) -> Completion:
        raise AssertionError("nothing is asked")

    def option_schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": {"seed": {"type": "integer"}}, "additionalProperties": False}

    def option_values(self) -> dict[str, Any]:
        return {} if self.seed is None else {"seed": self.seed}

    def with_options(self, **changes: Any) -> Seeded:
        return Seeded(changes["seed"])


async def test_a_large_seed_does_not_keep_a_prompt_from_being_applied_and_can_be_typed() -> None:
    """W4.5."""
    session = Session(Agent("writer", Seeded(LARGE), system_prompt="one"), "t")
    editor = for_browser(session.state())["editor"]
    assert editor["agents"][0]["values"] == {"system_prompt": "one", "options": {"seed": str(LARGE)}}
    browser = Browser(session)
    value = {**editor["agents"][0]["values"], "system_prompt": "two"}
    assert (await browser.ask(kind="change_agent", agent="writer", value=value)).kind == "done"
    assert isinstance(session.target, Agent)
    assert session.target.settings.system_prompt == "two"
    assert session.target.settings.client.option_values() == {"seed": LARGE}  # type: ignore[attr-defined]  # its own client
    value = {"system_prompt": "two", "options": {"seed": str(LARGE + 2)}}
    assert (await browser.ask(kind="change_agent", agent="writer", value=value)).kind == "done"
    assert session.target.settings.client.option_values() == {"seed": LARGE + 2}  # type: ignore[attr-defined]

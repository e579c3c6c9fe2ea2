"""The prompt and the options that a session's agent goes on with (W4.5), and what may be chosen where its thread cannot (W4.6)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ._base import JsonObject, WireModel

WayOn = Literal["old_agent", "new_thread", "empty_thread", "back"]


class EditedAgent(WireModel):
    """One agent of the family: a form, what it holds now, and the code that makes it from the agent given."""

    id: str
    about: str  # whose options these are, or why there are none to set
    form: JsonObject  # JSON Schema of `values`
    values: JsonObject
    code: str | None  # None while nothing of the family is changed


class WayOnView(WireModel):
    """A button, and what it does in words."""

    way: WayOn
    label: str
    about: str


class EditorView(WireModel):
    agents: list[EditedAgent]
    said: str  # beside the closed editor's name: what holds from when on; blank where there is nothing to say
    offer: str | None  # why the thread does not go on with the changed agent
    ways: list[WayOnView]
    suggested: str | None  # a query that was left out or refused, for the prompt box of a thread that is new


class ChangeAgent(WireModel):
    """Go on with another prompt and other options of one agent; `value` is the whole form."""

    kind: Literal["change_agent"]
    agent: Annotated[str, Field(min_length=1, max_length=200)]
    value: JsonObject


class GoOn(WireModel):
    """A way on chosen by somebody who looked at this thread; refused where the session drives another one by now."""

    kind: Literal["go_on"]
    way: WayOn
    thread_id: Annotated[str, Field(min_length=1)]

"""What an agent's run tells those who listen (8.1): durable events, committed with the emitting task, and live ones.

A durable event never holds message text. `decode` turns a record of a subscription back into one of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

from msgspec import to_builtins
from pydantic import TypeAdapter, ValidationError

from ..graph import RunContext
from ..models import Json, Usage

ExecutedOutcome: TypeAlias = Literal["Succeeded", "Errored", "Denied", "Rejected", "NeedsApproval", "Asked"]


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """The base of the agent's events."""

    name: ClassVar[str]
    durable: ClassVar[bool]


@dataclass(frozen=True, slots=True)
class ModelCallStarted(AgentEvent):
    """A client call begins; `attempt` counts from 1 in each task, and a higher one discards the text of the lower."""

    name: ClassVar[str] = "agent.model-call-started"
    durable: ClassVar[bool] = False
    agent: str
    attempt: int


@dataclass(frozen=True, slots=True)
class TextDelta(AgentEvent):
    """A piece of streamed text."""

    name: ClassVar[str] = "agent.text-delta"
    durable: ClassVar[bool] = False
    attempt: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta(AgentEvent):
    """A piece of streamed reasoning."""

    name: ClassVar[str] = "agent.thinking-delta"
    durable: ClassVar[bool] = False
    attempt: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta(AgentEvent):
    """A piece of a call that is still being written: `arguments` continues the JSON text of call number `index`, from 0.

    It is empty for a tool with secret arguments (3.8.2).
    """

    name: ClassVar[str] = "agent.tool-call-delta"
    durable: ClassVar[bool] = False
    attempt: int
    index: int
    call_id: str
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ModelCallWaits(AgentEvent):
    """A client's request failed with `fault` (M4.2) and is sent again as `attempt`, after `seconds` of waiting."""

    name: ClassVar[str] = "agent.model-call-waits"
    durable: ClassVar[bool] = False
    agent: str
    attempt: int
    seconds: float
    fault: str


@dataclass(frozen=True, slots=True)
class ModelCallEnded(AgentEvent):
    """A client call is over; nothing more is streamed. Its text is void where it `failed`, and not stored yet where it did not."""

    name: ClassVar[str] = "agent.model-call-ended"
    durable: ClassVar[bool] = False
    agent: str
    attempt: int
    failed: bool


@dataclass(frozen=True, slots=True)
class ModelCallCompleted(AgentEvent):
    """A model step was stored, or a client call was counted before a model wrapper's question (8.6).

    `seconds` is how long the client call took, waits for further attempts included, and `first_token` the seconds until the
    first piece of the attempt that was kept, where it was streamed. Two events that differ in these alone are equal.
    """

    name: ClassVar[str] = "agent.model-call-completed"
    durable: ClassVar[bool] = True
    agent: str
    model: str
    attempts: int
    tool_calls: int
    usage: Usage | None = None
    seconds: float = field(default=0.0, compare=False)
    first_token: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ToolCallStarted(AgentEvent):
    """A call's arguments are valid and its wrappers are about to run; told again on each re-run."""

    name: ClassVar[str] = "agent.tool-call-started"
    durable: ClassVar[bool] = False
    call_id: str
    tool: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ToolCallResult(AgentEvent):
    """A call's result was recorded."""

    name: ClassVar[str] = "agent.tool-call-result"
    durable: ClassVar[bool] = False
    call_id: str
    content: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolExecuted(AgentEvent):
    """A call's outcome is known, or it parks. `duration` in seconds, zero where nothing ran."""

    name: ClassVar[str] = "agent.tool-executed"
    durable: ClassVar[bool] = True
    agent: str
    call_id: str
    tool: str
    duration: float
    outcome: ExecutedOutcome


@dataclass(frozen=True, slots=True)
class HandedOff(AgentEvent):
    """The conversation went over to another agent."""

    name: ClassVar[str] = "agent.handed-off"
    durable: ClassVar[bool] = True
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class GuardrailBlocked(AgentEvent):
    """A guardrail, or a reviewer, blocked the turn; the reason is never stored."""

    name: ClassVar[str] = "agent.guardrail-blocked"
    durable: ClassVar[bool] = True
    guardrail: str
    phase: Literal["Input", "Output"]


UNKNOWN_TOOL = "<unknown>"
"""`ToolExecuted.tool` for a name the agent does not have: the name is the model's text and not stored."""

_KINDS: Mapping[str, type[AgentEvent]] = {
    kind.name: kind
    for kind in (
        ModelCallStarted,
        TextDelta,
        ThinkingDelta,
        ToolCallDelta,
        ModelCallWaits,
        ModelCallEnded,
        ModelCallCompleted,
        ToolCallStarted,
        ToolCallResult,
        ToolExecuted,
        HandedOff,
        GuardrailBlocked,
    )
}


@lru_cache(maxsize=16)
def _adapter(kind: type[AgentEvent]) -> TypeAdapter[AgentEvent]:
    return TypeAdapter(kind)


def announce(context: RunContext, event: AgentEvent) -> None:
    """Emit a durable event with the task's result, or tell a live one now. One of many that nobody follows need not be made."""
    if event.durable:  # all that is in it the task stores as well, where it is checked
        context.emitted.append((event.name, 1, to_builtins(event)))
    elif context.followed:
        context.progress(event.name, event)


def decode(name: str, payload: Any) -> AgentEvent | None:
    """The agent event of a custom or progress event's name and payload; None for one that is not the agent's.

    A hook or tool may tell something of its own under a name of the agent's: what does not have its form is not the agent's either.
    """
    kind = _KINDS.get(name)
    if kind is None:
        return None
    try:
        return _adapter(kind).validate_python(payload)
    except ValidationError:
        return None

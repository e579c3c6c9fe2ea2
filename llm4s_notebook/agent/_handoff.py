"""Handing the conversation over to another agent (section 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..models import FrozenDict, FrozenList, Message, ToolHints, ToolSpec, UserMessage
from ._turn import Transfer

if TYPE_CHECKING:
    from ._agent import Agent

MIXED_BATCH = "A handoff must be the only tool call in a message; no call in this message was run"


@dataclass(frozen=True, slots=True)
class Handoff:
    """A way to another agent; give a callable where two agents name each other.

    Without `preserve_context` the target is sent only the last user message and what follows the handoff; the stored
    history stays whole (7.8). `reason` tells the model when to hand over.
    """

    to: Agent | Callable[[], Agent]
    preserve_context: bool = True
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class HandoffRoute:
    """A resolved handoff: the target's id and whether it is sent everything."""

    target: str
    preserve_context: bool


def handoff_name(target: str) -> str:
    """The stand-in tool that offers a handoff to the model."""
    return f"handoff_to_{target}"


def handoff_spec(target: str, description: str | None) -> ToolSpec:
    """The stand-in tool's spec (7.1)."""
    about = f"Hand the conversation over to {target}." + (f" {description}" if description else "")
    parameters = FrozenDict(
        {
            "type": "object",
            "properties": FrozenDict({"reason": FrozenDict({"type": "string", "description": "why the conversation is handed over"})}),
            "required": FrozenList(["reason"]),
            "additionalProperties": False,
        }
    )
    return ToolSpec(
        handoff_name(target), about, parameters, ToolHints(read_only=False, destructive=False, idempotent=True, open_world=False)
    )


def transferred(target: str) -> str:
    """What the model is told as the stand-in tool's result."""
    return f"Transferred to {target}"


def sent_after(messages: Sequence[Message], transfer: Transfer) -> Sequence[Message]:
    """What a target without context is sent: the last user message before the transfer, and all from the transfer on (7.8)."""
    at = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].id == transfer.message_id), None)
    if at is None:
        return messages
    asked = next((one for one in range(at - 1, -1, -1) if isinstance(messages[one], UserMessage)), None)
    return messages[at:] if asked is None else [messages[asked], *messages[at:]]

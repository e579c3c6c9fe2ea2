"""The secrets of open calls, kept apart from everything that is shown (3.8.2).

A stored call has dots where its secrets were; their values lie under this key until the batch has its results. Nothing else
of a thread holds them, but the answer of a person who typed one and the task that this answer becomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ..graph import Command, StateKey, ThreadState
from ..models import AssistantMessage, FrozenDict, Json, ToolCall, freeze
from ._secrets import SecretPlaces

_NOTHING = Command()
_NO_SECRETS: Mapping[str, Json] = FrozenDict({})


@dataclass(frozen=True, slots=True)
class CallSecrets:
    """What the dots of one call stand for. Its `repr` says nothing of it."""

    message_id: str
    call_id: str
    values: Json = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", freeze(self.values))


def _kept(secrets: list[CallSecrets], of: CallSecrets) -> list[CallSecrets]:
    """In place of any that the same call had."""
    return [*(one for one in secrets if (one.message_id, one.call_id) != (of.message_id, of.call_id)), of]


CALL_SECRETS: StateKey[list[CallSecrets], CallSecrets] = StateKey(
    "call-secrets", cast(Any, list[CallSecrets]), CallSecrets, initial=[], reduce=_kept
)


def secrets_of(state: ThreadState, message_id: str, call_id: str) -> Mapping[str, Json]:
    """What the dots of a call stand for; empty where it has none."""
    if not state.is_set(CALL_SECRETS):
        return _NO_SECRETS
    kept = state[CALL_SECRETS]
    return next((one.values for one in kept if (one.message_id, one.call_id) == (message_id, call_id)), _NO_SECRETS)


def hiding(places_of: Mapping[str, SecretPlaces], message: AssistantMessage) -> tuple[AssistantMessage, Command]:
    """A message as it is stored and shown, and the update that keeps the secrets of its calls.

    `places_of` says by a tool's name where its secrets are; a call of any other tool has none that anybody knows of.
    """
    command = _NOTHING
    if not places_of or not message.tool_calls:
        return message, command
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        places = places_of.get(call.name)
        made = None if places is None else places.hide(call.arguments)
        if made is not None and made.values:
            call = ToolCall(call.id, call.name, made.shown, call.edited)
            command = command.update(CALL_SECRETS, CallSecrets(message.id, call.id, made.values))
        calls.append(call)
    return (replace(message, tool_calls=tuple(calls)) if command.updates else message), command

"""What hooks and tools know of where they run, and the answers their stack run has collected (3.1.3, 4.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..graph import RunContext, ThreadState
from ..models import json_bytes
from ._decision import GivenAnswer


class HookContext(RunContext):
    """A task's context as one agent's hooks see it: the same run, with the answers of this stack run."""

    def __init__(self, inner: RunContext, agent: str, answers: Sequence[GivenAnswer]) -> None:
        super().__init__(inner._voice, inner.checkpoint_id, inner.task_id, inner.node_id, inner.superstep)
        self.emitted = inner.emitted
        self.agent = agent
        self.answers = tuple(answers)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The call a tool runs for. `approved` is true once a person has let this very call run.

    `idempotency_key` is the same whenever this call is run again and different for every other call (D13).
    """

    call_id: str
    approved: bool
    state: ThreadState
    run: RunContext
    idempotency_key: str
    agent: str = ""
    answers: tuple[GivenAnswer, ...] = field(default=(), repr=False)


def answers_in(context: RunContext | ToolContext) -> tuple[str, Sequence[GivenAnswer]]:
    """The agent whose stack runs, and the answers given in this stack run so far; none outside an agent's run."""
    if isinstance(context, ToolContext | HookContext):
        return context.agent, context.answers
    return "", ()


def idempotency_key(birth_id: str, message_id: str, call_id: str) -> str:
    """SHA-256 over where the call comes from: the thread's birth, the message, the call (D13)."""
    return hashlib.sha256(json_bytes([birth_id, message_id, call_id])).hexdigest()

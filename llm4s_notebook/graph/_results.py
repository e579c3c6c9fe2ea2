"""What a node may return besides a command (R1.24). Control flow is returned, never raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ._command import Command
from ._refs import ResumeRef

Q = TypeVar("Q")
Ans = TypeVar("Ans")


@dataclass(frozen=True, slots=True)
class Suspend(Generic[Q, Ans]):
    """Apply the update and wait for a person; the answer to `question` starts the node `resume_at`."""

    question: Q
    resume_at: ResumeRef[Q, Ans]
    update: Command = field(default_factory=Command)


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail the run, as raising `error` does; recover runs this task again."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Block:
    """End the turn for good: the update commits, the thread closes as Failed and is usable at once; the caller gets `error` itself."""

    error: BaseException
    update: Command = field(default_factory=Command)


NodeResult = Command | Suspend[Any, Any] | Fail | Block | None

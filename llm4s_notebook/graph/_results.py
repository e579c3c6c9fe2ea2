"""What a node may return besides a command (R1.24). Control flow is returned, never raised."""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from ..checkpoint import Value
from ._command import Command
from ._refs import ResumeRef

Q = TypeVar("Q")
Ans = TypeVar("Ans")
_NO_UPDATE: Final = Command()


class Suspend(Value, Generic[Q, Ans], frozen=True, gc=True):
    """Apply the update and wait for a person; the answer to `question` starts the node `resume_at`."""

    question: Q
    resume_at: ResumeRef[Q, Ans]
    update: Command = _NO_UPDATE


class Fail(Value, frozen=True, gc=True):
    """Fail the run, as raising `error` does; recover runs this task again."""

    error: BaseException


class Block(Value, frozen=True, gc=True):
    """End the turn for good: the update commits, the thread closes as Failed and is usable at once; the caller gets `error` itself."""

    error: BaseException
    update: Command = _NO_UPDATE


NodeResult = Command | Suspend[Any, Any] | Fail | Block | None

"""How a turn stands (2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from ._request import ApprovalRequest, BreakpointRequest, MiddlewareQuestionRequest, ToolQuestionRequest


class AgentStatus:
    """The base of the statuses, which are also its attributes: `AgentStatus.Completed(answer)` is `Completed(answer)`."""

    __slots__ = ()

    Completed: ClassVar[type[Completed]]
    Blocked: ClassVar[type[Blocked]]
    StepLimitReached: ClassVar[type[StepLimitReached]]
    Suspended: ClassVar[type[Suspended]]
    Unfinished: ClassVar[type[Unfinished]]


@dataclass(frozen=True, slots=True)
class Completed(AgentStatus):
    """The active agent gave a final answer."""

    answer: str

    def __str__(self) -> str:
        return f"COMPLETED({self.answer})"


@dataclass(frozen=True, slots=True)
class Blocked(AgentStatus):
    """A guardrail, or a reviewer, refused; nothing of the turn is kept but its usage, and the thread is usable."""

    guardrail: str
    reason: str

    def __str__(self) -> str:
        return f"BLOCKED({self.guardrail}: {self.reason})"


@dataclass(frozen=True, slots=True)
class StepLimitReached(AgentStatus):
    """The active agent's `max_steps` model calls were used up without an answer."""

    def __str__(self) -> str:
        return "STEP_LIMIT_REACHED"


@dataclass(frozen=True, slots=True)
class Suspended(AgentStatus):
    """The turn waits for a person. Each interrupt is in exactly one of the four, by its id, in the order it was parked."""

    approvals: Mapping[str, ApprovalRequest] = field(default_factory=dict[str, ApprovalRequest])
    questions: Mapping[str, ToolQuestionRequest] = field(default_factory=dict[str, ToolQuestionRequest])
    middleware_questions: Mapping[str, MiddlewareQuestionRequest] = field(default_factory=dict[str, MiddlewareQuestionRequest])
    breakpoints: Mapping[str, BreakpointRequest] = field(default_factory=dict[str, BreakpointRequest])

    def __len__(self) -> int:
        return len(self.approvals) + len(self.questions) + len(self.middleware_questions) + len(self.breakpoints)

    def __str__(self) -> str:
        return f"SUSPENDED({len(self)} pending)"


@dataclass(frozen=True, slots=True)
class Unfinished(AgentStatus):
    """The turn failed, was cancelled, or runs elsewhere; `recover` continues it from `checkpoint_id`."""

    checkpoint_id: str

    def __str__(self) -> str:
        return "UNFINISHED"


AgentStatus.Completed = Completed
AgentStatus.Blocked = Blocked
AgentStatus.StepLimitReached = StepLimitReached
AgentStatus.Suspended = Suspended
AgentStatus.Unfinished = Unfinished

AnyStatus: TypeAlias = Completed | Blocked | StepLimitReached | Suspended | Unfinished

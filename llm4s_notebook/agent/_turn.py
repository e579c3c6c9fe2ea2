"""What the loop remembers of the turn and of who is active (1.2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

from ..graph import StateKey
from ..models import Usage, UsageSummary
from ._messages import MESSAGES, TOOL_RESULTS
from ._status import AnyStatus, Blocked, Completed, StepLimitReached


@dataclass(frozen=True, slots=True)
class Transfer:
    """The last handoff: from whom, to whom, and the assistant message that made it."""

    source: str
    target: str
    message_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended, as stored."""

    kind: Literal["completed", "blocked", "step-limit"]
    answer: str = ""
    guardrail: str = ""
    reason: str = ""

    @classmethod
    def blocked(cls, guardrail: str, reason: str) -> Outcome:
        return cls("blocked", guardrail=guardrail, reason=reason)

    @property
    def status(self) -> AnyStatus:
        match self.kind:
            case "completed":
                return Completed(self.answer)
            case "blocked":
                return Blocked(self.guardrail, self.reason)
            case "step-limit":
                return StepLimitReached()


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn under way or just ended: its query and user message, steps taken, who it started with, and how it ended.

    A blocked turn keeps neither query nor message (6.1.4).
    """

    query: str | None = None
    message_id: str | None = None
    steps: int = 0
    agent: str | None = None
    transfer: Transfer | None = None
    outcome: Outcome | None = None

    def stepped(self) -> Turn:
        """One step further."""
        return Turn(self.query, self.message_id, self.steps + 1, self.agent, self.transfer, self.outcome)

    def ended(self, outcome: Outcome) -> Turn:
        """The turn with its end."""
        return Turn(self.query, self.message_id, self.steps, self.agent, self.transfer, outcome)


@dataclass(frozen=True, slots=True)
class UsageEntry:
    """One counted completion (1.5.2)."""

    model: str
    usage: Usage | None


USAGE: StateKey[UsageSummary, UsageEntry] = StateKey(
    "usage", UsageSummary, UsageEntry, initial=UsageSummary(), reduce=lambda summary, entry: summary.adding(entry.model, entry.usage)
)
ACTIVE_AGENT: StateKey[str | None, str | None] = StateKey.replace("active-agent", cast(Any, str | None), initial=None)
TURN: StateKey[Turn, Turn] = StateKey.replace("turn", Turn, initial=Turn())
TRANSFER: StateKey[Transfer | None, Transfer | None] = StateKey.replace("transfer", cast(Any, Transfer | None), initial=None)

LOOP_KEYS = (MESSAGES, TOOL_RESULTS, USAGE, ACTIVE_AGENT, TURN, TRANSFER)
LOOP_KEY_IDS = frozenset(key.id for key in LOOP_KEYS)

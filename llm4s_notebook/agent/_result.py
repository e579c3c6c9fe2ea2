"""What `run` and its siblings give: how the turn stands, and the answers that may be built from it (2.1, 2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graph import Answer, ThreadState
from ..models import Message, ToolMessage, UsageSummary
from ._display import as_html, as_text
from ._pending import AnswerSchemas, PendingReview, flat_view
from ._status import AnyStatus, Completed


@dataclass(frozen=True, repr=False)
class AgentResult:
    """A turn's result, a value: continuing uses its `thread_id`, answering uses the ids in `pending`.

    `messages` is the thread's whole history without the system prompt; `active_agent` the one the next turn starts with;
    `recorded_results` what the open batch of calls has so far; `query` what the turn was asked (None once it was blocked).
    """

    thread_id: str
    run_id: str
    active_agent: str
    status: AnyStatus
    messages: tuple[Message, ...]
    usage: UsageSummary
    state: ThreadState = field(compare=False)
    recorded_results: tuple[ToolMessage, ...] = ()
    query: str | None = None
    _owners: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    _schemas: AnswerSchemas | None = field(default=None, compare=False)

    @property
    def answer(self) -> str | None:
        """The final answer once the turn is completed; None before and otherwise."""
        return self.status.answer if isinstance(self.status, Completed) else None

    @property
    def pending(self) -> tuple[PendingReview, ...]:
        """Everything the turn waits for: approvals, tool questions, middleware questions, breakpoints, in this order."""
        return () if self._schemas is None else flat_view(self.status, self._owners, self._schemas)

    # Answers are only encoded here; whether the id waits for such a value is for `resume` to say (2.3.3).

    def approve(self, id: str) -> Answer:
        """Let an approval's call run as it stands."""
        return Answer.approve(id)

    def reject(self, id: str, reason: str | None = None) -> Answer:
        """Refuse an approval's call; the model sees the reason as the call's result."""
        return Answer.reject(id) if reason is None else Answer.reject(id, reason)

    def edit(self, id: str, arguments: Mapping[str, Any]) -> Answer:
        """Let an approval's call run with other arguments. Raises: EncodeError."""
        return Answer.edit(id, arguments)

    def reply(self, id: str, value: Any) -> Answer:
        """Answer a tool's or a middleware's question with a JSON value or a model. Raises: EncodeError."""
        return Answer.reply(id, value)

    def proceed(self, id: str) -> Answer:
        """Let a held step go on."""
        return Answer.proceed(id)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

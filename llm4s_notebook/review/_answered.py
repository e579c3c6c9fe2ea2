"""Which interrupts have been answered, when and by whom (F41): read from the thread's log, so other kernels' answers count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from ..errors import InvalidResume, ResumeProblem
from ..graph.events import EventRecord, RunResumed, RunStarted, RunSuspended, TaskSuspended


@dataclass(frozen=True, slots=True)
class Answered:
    """One answered interrupt; `summary` says what was answered where this session knows it."""

    id: str
    at: datetime
    by: str | None
    summary: str


class AnsweredLog:
    """Reduces the thread's durable events to what has been answered and since when each open interrupt waits.

    Those of earlier turns are kept, to tell a late answer from an unknown id. `of_turn` lists the present turn's.
    """

    def __init__(self) -> None:
        self.sequence = 0  # the last event seen
        self.turn: str | None = None  # the id of the run that began the present turn; None where the log no longer says
        self._answered: dict[str, Answered] = {}
        self._turn: list[str] = []
        self._since: dict[str, datetime] = {}
        self._summaries: dict[str, str] = {}

    def will_answer(self, summaries: Mapping[str, str]) -> None:
        """Note in words what is being answered, before the resume's own event says when."""
        self._summaries.update(summaries)

    def see(self, records: Iterable[EventRecord]) -> None:
        """Take in events in the order of their numbers; those seen before, and live ones, are passed over."""
        for record in records:
            if record.sequence is None or record.sequence <= self.sequence:
                continue
            self.sequence = record.sequence
            match record.event:
                case RunStarted():
                    self.turn = record.run_id
                    self._turn = []
                case RunResumed(answered=ids, principal=principal):
                    for interrupt_id in ids:
                        self._turn.append(interrupt_id)
                        summary = self._summaries.pop(interrupt_id, "answered")
                        self._answered[interrupt_id] = Answered(interrupt_id, record.timestamp, principal, summary)
                case TaskSuspended(interrupt_id=interrupt_id):
                    self._since[interrupt_id] = record.timestamp
                    self._answered.pop(interrupt_id, None)
                case RunSuspended(interrupts=ids):
                    for interrupt_id in ids:
                        self._since.setdefault(interrupt_id, record.timestamp)
                case _:
                    pass

    def get(self, interrupt_id: str) -> Answered | None:
        return self._answered.get(interrupt_id)

    def since(self, interrupt_id: str) -> datetime | None:
        """When the interrupt began to wait."""
        return self._since.get(interrupt_id)

    def of_turn(self) -> tuple[Answered, ...]:
        return tuple(self._answered[interrupt_id] for interrupt_id in tuple(self._turn) if interrupt_id in self._answered)

    def explained(self, refusal: InvalidResume, pending: Iterable[str]) -> InvalidResume:
        """The same refusal, telling answered ids from unknown ones and naming what is pending now (W1.3)."""
        waiting = ", ".join(pending) or "nothing"
        problems = [self._problem(problem, waiting) for problem in refusal.problems]
        return InvalidResume(graph_id=refusal.graph_id, problems=problems)

    def _problem(self, problem: ResumeProblem, waiting: str) -> ResumeProblem:
        if problem.code not in ("unknown", "answered") or problem.interrupt_id is None:
            return problem
        known = self._answered.get(problem.interrupt_id)
        if known is None:
            message = f"nothing of that id waits; pending now: {waiting}"
            return ResumeProblem(interrupt_id=problem.interrupt_id, code="unknown", message=message)
        by = f" by {known.by}" if known.by else ""
        return ResumeProblem(
            interrupt_id=problem.interrupt_id,
            code="answered",
            message=f"already answered{by} at {known.at:%H:%M:%S} UTC; pending now: {waiting}",
            answered_at=known.at,
            answered_by=known.by,
        )

"""The decisions of one turn, as a log has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..models import Json
from ._decision_record import DecisionRecord

KINDS = frozenset({"APPROVAL", "QUESTION", "MIDDLEWARE_QUESTION", "BREAKPOINT"})
"""The kinds that answer an interrupt; decisions of other kinds are never replayed."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One turn's decisions, in the order of the log."""

    thread_id: str
    turn: str | None
    records: tuple[DecisionRecord, ...]

    @property
    def query(self) -> Json:
        """What the turn was asked; None where the log does not say."""
        return next((record.query for record in self.records if record.query is not None), None)

    def __str__(self) -> str:
        first = self.records[0]
        count = len(self.records)
        asked = "" if self.query is None else f" {self.query!r}"
        return f"thread '{self.thread_id}'{asked}, {count} decision{'s' if count != 1 else ''} from {first.at:%Y-%m-%d %H:%M} UTC on"


def in_turns(records: Iterable[DecisionRecord]) -> tuple[RecordedTurn, ...]:
    """The decisions on interrupts, by thread and turn, each turn where its first decision stands."""
    turns: dict[tuple[str, str | None], list[DecisionRecord]] = {}
    for record in records:
        if record.kind in KINDS:
            turns.setdefault((record.thread_id, record.turn), []).append(record)
    return tuple(RecordedTurn(thread_id, turn, tuple(found)) for (thread_id, turn), found in turns.items())

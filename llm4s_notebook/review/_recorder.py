"""A session's admitted answers on their way into its decision log (L2).

A line is written when the answer has been admitted: a refused one is no decision. The runtime has stored the answer by then,
so a process that dies before the line is written leaves an answered interrupt in the thread's own log (`RunResumed`, with who
and when) and none here - which `left_out` finds when the thread is opened again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import EncodeError, StoreUnavailable
from ..models import Json, freeze
from ..wire import PendingCard
from ._answered import Answered
from ._answers import Pair
from ._decision_log import DecisionLog
from ._decision_record import DecisionRecord, make_record
from ._seen import Seen
from ._shown import given_to, shown_of

_log = logging.getLogger(__name__)


class Recorder:
    """Writes one thread's decisions. What could not be written is kept and tried again with the next decision."""

    def __init__(self, log: DecisionLog, thread_id: str, seen: Seen) -> None:
        """Raises: StoreUnavailable where nothing could be appended to the log."""
        log.check_writable()
        self._decisions = log
        self._thread_id = thread_id
        self._seen = seen
        self._unwritten: list[DecisionRecord] = []

    def record(
        self,
        answers: Sequence[Pair],
        cards: Mapping[str, PendingCard],
        *,
        at: datetime,
        who: str | None,
        turn: str | None,
        run: str,
        query: Any,
    ) -> StoreUnavailable | None:
        """Record the answers of one resume, in the order given. What went wrong is returned: the run goes on in spite of it."""
        try:
            known = _json(query)
            for interrupt_id, value in answers:
                card = cards[interrupt_id]
                answered, secrets = given_to(card, value)
                self._unwritten.append(
                    make_record(
                        at=at,
                        who=who,
                        thread_id=self._thread_id,
                        turn=turn,
                        run=run,
                        query=known,
                        interrupt_id=interrupt_id,
                        kind=card.kind,
                        shown=shown_of(card),
                        answered=answered,
                        secrets=secrets,
                        seconds=self._seen.seconds(interrupt_id, at),
                    )
                )
            self._decisions.append(self._unwritten)
            self._unwritten = []
            return None
        except Exception as error:
            return self._not_written([interrupt_id for interrupt_id, _ in answers], error)

    def _not_written(self, ids: Sequence[str], error: Exception) -> StoreUnavailable:
        reason = error.reason if isinstance(error, StoreUnavailable) else f"{type(error).__name__}: {error}"
        trouble = StoreUnavailable(
            path=str(self._decisions.path),
            reason=f"the answer to {', '.join(ids)} was taken and the turn goes on, but it is not in the decision log: {reason}",
            next_step="mend that: this session writes it together with its next decision, as long as the kernel lives",
        )
        _log.error("%s", trouble)
        return trouble

    def left_out(self, answered: Iterable[Answered], turn: str | None) -> tuple[Answered, ...]:
        """Those of a turn's answers that the log does not have. Raises: DecisionLogDamaged; StoreUnavailable."""
        wanted = tuple(answered)
        if not wanted:
            return ()
        written = {one.interrupt_id for one in self._decisions.records() if (one.thread_id, one.turn) == (self._thread_id, turn)}
        written.update(one.interrupt_id for one in self._unwritten)
        return tuple(one for one in wanted if one.id not in written)

    def said_of(self, left_out: Sequence[Answered]) -> str:
        """One line for the person."""
        named = "; ".join(f"{one.id} at {one.at:%Y-%m-%d %H:%M:%S} UTC" + (f" by {one.by}" if one.by else "") for one in left_out)
        return f"{self._decisions.path} has no line for what was answered in this turn: {named} (given without the log, or the kernel died)"


def _json(query: Any) -> Json:
    try:
        return freeze(query)
    except (EncodeError, RecursionError):
        return None  # an input that is no plain JSON: a graph's own type

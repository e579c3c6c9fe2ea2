"""A session's admitted answers on their way into its decision log (L2).

A line is written when the answer has been admitted: a refused one is no decision. The runtime has stored the answer by then,
so a process that dies before the line is written leaves an answered interrupt in the thread's own log (`RunResumed`, with who
and when) and none here - which is found when the thread is opened again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors import EncodeError, Llm4sError, StoreUnavailable
from ..models import Json, freeze
from ..wire import PendingCard
from ._answers import Pair
from ._board import Board
from ._decision_log import DecisionLog, writable
from ._decision_record import DecisionRecord, make_record
from ._reader import ThreadReader
from ._shown import given_to, shown_of

_log = logging.getLogger(__name__)


class Recorder:
    """Writes one thread's decisions. What could not be written is kept and tried again with the next decision."""

    def __init__(self, log: DecisionLog, thread_id: str, reader: ThreadReader, board: Board) -> None:
        """Raises: ConfigError for what is no log; StoreUnavailable where nothing could be appended to it."""
        self._decisions = writable(log)
        self._thread_id = thread_id
        self._reader = reader
        self._board = board
        self._cards: Mapping[str, PendingCard] = {}
        self._asked: tuple[str | None, Json] = (None, None)
        self._unwritten: list[DecisionRecord] = []

    def turn_to(self, thread_id: str, reader: ThreadReader) -> None:
        """Another thread, or another agent on this one. What could not be written yet keeps its own thread's id."""
        self._thread_id, self._reader, self._cards = thread_id, reader, {}

    def asked(self, query: Any, run_id: str) -> None:
        """A turn begins. A graph's thread does not store what it was asked."""
        try:
            self._asked = (run_id, freeze(query))
        except (EncodeError, RecursionError):  # an input that is no plain JSON: a graph's own type
            self._asked = (run_id, None)

    async def will_record(self, answers: Sequence[Pair]) -> None:
        """Keep what the answers are given to; it may have come to wait in another kernel."""
        if any(interrupt_id not in self._reader.stored.waiting for interrupt_id, _ in answers):
            await self._reader.read()
        self._cards = {card.id: card for card in self._reader.stored.cards}

    def record(self, answers: Sequence[Pair], *, at: datetime, who: str | None, run: str) -> None:
        """Record the answers of one resume, in the order given. What goes wrong is shown: the run goes on in spite of it."""
        trouble = None
        try:
            self._unwritten += [self._made(one, value, at, who, run) for one, value in answers]
            self._decisions.append(self._unwritten)
            self._unwritten = []
        except Exception as error:
            trouble = self._not_written([interrupt_id for interrupt_id, _ in answers], error)
        if self._board.underway is not None:
            self._board.underway.trouble = trouble

    def _made(self, interrupt_id: str, value: Any, at: datetime, who: str | None, run: str) -> DecisionRecord:
        card = self._cards[interrupt_id]
        turn = self._reader.log.turn
        answered, secrets = given_to(card, value)
        return make_record(
            at=at,
            who=who,
            thread_id=self._thread_id,
            turn=turn,
            run=run,
            query=self._asked[1] if turn is not None and self._asked[0] == turn else self._reader.stored.query,
            interrupt_id=interrupt_id,
            kind=card.kind,
            shown=shown_of(card),
            answered=answered,
            secrets=secrets,
            seconds=self._board.seen.seconds(interrupt_id, at),
        )

    def _not_written(self, ids: Sequence[str], error: Exception) -> StoreUnavailable:
        reason = error.reason if isinstance(error, StoreUnavailable) else f"{type(error).__name__}: {error}"
        trouble = StoreUnavailable(
            path=str(self._decisions.path),
            reason=f"the answer to {_some(ids, ', ')} was taken and the turn goes on, but it is not in the decision log: {reason}",
            next_step="mend that: this session writes it together with its next decision, as long as the kernel lives",
        )
        _log.error("%s", trouble)
        return trouble

    def look_for_gaps(self) -> None:
        """A thread was opened: say which answers of its last turn the log does not have (L2.2)."""
        answered, turn = self._reader.log.of_turn(), self._reader.log.turn
        if not answered:
            return
        try:
            records = self._decisions.records()
        except Llm4sError as unreadable:
            self._board.show(unreadable)
            return
        written = {one.interrupt_id for one in records if (one.thread_id, one.turn) == (self._thread_id, turn)}
        gaps = [one for one in answered if one.id not in written]
        if gaps:
            named = [f"{one.id} at {one.at:%Y-%m-%d %H:%M:%S} UTC" + (f" by {one.by}" if one.by else "") for one in gaps]
            said = f"{self._decisions.path} has no line for what was answered in this turn: {_some(named, '; ')}"
            self._board.say(f"{said} (given without the log, or the kernel died)")
            _log.warning("%s", self._board.notice)


def _some(items: Sequence[str], between: str, most: int = 10) -> str:
    more = len(items) - most
    return between.join(items[:most]) + (f" and {more} more" if more > 0 else "")

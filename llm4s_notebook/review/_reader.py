"""A thread as its store has it, read again whenever it may have changed there. The checkpoint is the one source of truth (W1.3)."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

from ..checkpoint import CheckpointStatus, Clock, EventRecord, Head
from ..errors import InvalidResume, ReplayUnavailable, ResumeProblem
from ._answered import AnsweredLog
from ._answers import Pair
from ._model_calls import ModelCalls
from ._thread import ReviewedThread, Stored
from ._trace import Trace

PAGE = 1000


class ThreadReader:
    """The last reading: the turn as stored, what its log says, and whether somebody else runs it."""

    def __init__(self, thread: ReviewedThread, thread_id: str, clock: Clock) -> None:
        self._thread = thread
        self._thread_id = thread_id
        self._clock = clock
        self.stored: Stored = thread.unbegun
        self.log = AnsweredLog()
        self.trace = Trace()
        self.calls = ModelCalls()
        self.head: Head | None = None
        self.was_read = False

    def by(self, thread: ReviewedThread) -> ThreadReader:
        """A reader of the same thread through another agent, to be read; it goes on with what the log has told so far."""
        other = copy(self)
        other._thread = thread
        return other

    @property
    def elsewhere(self) -> bool:
        """Whether the store says that a run is under way: to be asked while this session has none."""
        head = self.head
        if head is None or head.claim is None or head.claim.expires_at <= self._clock.now():
            return False
        return head.status is None or head.status is CheckpointStatus.RUNNING

    async def read(self) -> None:
        """Read the thread anew. Raises: StoreUnavailable; RestoreRejected where the agent or graph has changed."""
        store = self._thread.checkpointer
        # the head first: what changes after it is seen as a changed head
        head = await store.head(self._thread_id)
        await self.read_events()
        self.stored = await self._thread.load(self._thread_id) if head.checkpoint_id is not None else self._thread.unbegun
        self.head = head
        self.was_read = True

    async def has_changed(self) -> bool:
        """One cheap look at the store: whether `read` would find something new."""
        before, was_elsewhere = self.head, self.elsewhere
        now = await self._thread.checkpointer.head(self._thread_id)
        if before is None or _mark(before) != _mark(now):
            return True
        self.head = now  # a renewed claim is no news, but its new end is
        return self.elsewhere != was_elsewhere

    async def settle(self, result: Any, run_id: str) -> None:
        """Draw what a run of our own has just returned, unless somebody has gone on with the thread meanwhile."""
        await self.read_events()
        self.stored = self._thread.stored(result)
        self.head = await self._thread.checkpointer.head(self._thread_id)
        if (self.head.checkpoint_id or "").rpartition("/")[0] != run_id:  # ids are "<run id>/<number>" (R1.5)
            await self.read()

    async def read_messages(self) -> None:
        """Draw the messages that a run of our own has stored by now. Raises: as `read`."""
        stored = await self._thread.load(self._thread_id)
        self.stored = replace(self.stored, messages=stored.messages, usage=stored.usage)

    async def read_events(self) -> None:
        """Catch up with the thread's log."""
        store = self._thread.checkpointer
        while True:
            try:
                records = await store.events_after(self._thread_id, self.log.sequence, PAGE)
            except ReplayUnavailable as gone:
                self.log.sequence = gone.earliest - 1
                continue
            self.see(records)
            if len(records) < PAGE:
                return

    def see(self, records: Iterable[EventRecord]) -> None:
        seen = tuple(records)
        self.log.see(seen)
        self.trace.see(seen)
        self.calls.see(seen)

    def refuse_answered(self, graph_id: str, answers: Iterable[Pair]) -> None:
        """Raises: InvalidResume for answers to what has been answered, as far as is known here."""
        waiting = self.stored.waiting
        late = [given for given, _ in answers if given not in waiting and self.log.get(given) is not None]
        if late:
            problems = [ResumeProblem(interrupt_id=interrupt_id, code="answered", message="already answered") for interrupt_id in late]
            raise self.log.explained(InvalidResume(graph_id=graph_id, problems=problems), waiting.values())

    def without(self, answered: Iterable[str]) -> None:
        """Take the cards away whose answers have just been admitted."""
        gone = set(answered)
        self.stored = replace(
            self.stored,
            cards=tuple(card for card in self.stored.cards if card.id not in gone),
            waiting={waiting: said for waiting, said in self.stored.waiting.items() if waiting not in gone},
        )


def _mark(head: Head) -> tuple[object, ...]:
    return head.checkpoint_id, head.status, head.write_count, None if head.claim is None else head.claim.token

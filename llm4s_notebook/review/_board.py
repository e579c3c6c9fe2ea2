"""What a session shows: its document, the revisions of it, and who is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..checkpoint import Clock
from ..graph.events import EventRecord
from ..wire import EditorView, GraphPicture, Pieces, SessionState
from ._breakpoints import Breakpoints
from ._home import TICK, Home
from ._live import Live
from ._observers import Observers, Pacer
from ._project import Facts, project, storage_view
from ._reader import ThreadReader
from ._seen import Seen
from ._thread import ReviewedThread, Run


@dataclass(slots=True)
class Underway:
    """A run of the session's own: asked for, and admitted once `run` is there."""

    query: Any
    started_at: datetime
    run: Run | None = None
    cancelling: bool = False
    trouble: Exception | None = None  # what went wrong beside it, and does not stop it
    committed: bool = False  # something of it is stored that is not drawn


class Board:
    """Makes the document of what is known, and tells whoever observes. `underway` is the session's own run, `live` what it is writing.

    What a model writes is told in pieces between documents, to `writing`: a document for each would be the whole thread each time.
    """

    def __init__(
        self, thread: ReviewedThread, thread_id: str, reader: ThreadReader, breakpoints: Breakpoints, clock: Clock, home: Home
    ) -> None:
        self.observers: Observers[SessionState] = Observers()
        self.writing: Observers[Pieces] = Observers()
        self.live = Live()
        self.underway: Underway | None = None
        self.error: Exception | None = None
        self.notice: str | None = None
        self.seen = Seen()
        self.editor: Callable[[], EditorView | None] = lambda: None
        self._thread = thread
        self._thread_id = thread_id
        self._reader = reader
        self._breakpoints = breakpoints
        self._clock = clock
        self._home = home
        self._picture: GraphPicture | None = None
        self._error_at: datetime | None = None
        self._revision = 0
        self.moved()

    def moved(self) -> None:
        """The session has moved to another loop: what belonged to the old one is let go."""
        self.underway = None
        self.live.clear()
        self._change: asyncio.Future[None] | None = None
        self._pacer = Pacer(self._push)
        self._live_pacer = Pacer(self._push_pieces)

    def turn_to(self, thread: ReviewedThread, thread_id: str, reader: ThreadReader) -> None:
        """Draw another agent or another thread from now on."""
        if thread_id != self._thread_id:
            self.seen = Seen()  # ids of what waits are those of its thread, and may be the same on another one
        self._thread, self._thread_id, self._reader = thread, thread_id, reader
        self.error = self.notice = self._picture = None

    def document(self) -> SessionState:
        """The document as it is now; may be called from any thread."""
        if self._picture is None:
            self._picture = self._thread.picture()
        reader, underway = self._reader, self.underway
        return project(
            Facts(
                revision=self._revision,
                thread_id=self._thread_id,
                title=self._thread.title,
                is_agent=self._thread.is_agent,
                storage=storage_view(self._thread.checkpointer.location),
                stored=reader.stored,
                picture=self._picture,
                breakpoints=self._breakpoints,
                trace=reader.trace,
                running_nodes=() if underway is None or underway.run is None else underway.run.running_nodes,
                log=reader.log,
                calls=reader.calls,
                live=self.live.view(reader.stored.messages),
                running_here=underway is not None,
                running_elsewhere=underway is None and reader.elsewhere,
                started_at=None if underway is None else underway.started_at,
                cancelling=underway is not None and underway.cancelling,
                query=underway.query if underway is not None and isinstance(underway.query, str) else None,
                error=self.error,
                error_at=self._error_at,
                notice=self.notice,
                editor=self.editor(),
                now=self._clock.now(),
            )
        )

    def changed(self) -> None:
        """Something drawn has changed; from any thread. On the home loop it is told before this returns."""
        if self._home.adopt():
            self.touch(now=True)
        elif not self._home.post(lambda: self.touch(now=True)):
            self._revision += 1  # no loop, so nobody is told; the next reader sees it

    def say(self, notice: str | None) -> None:
        """Show one line to the person; None takes it away."""
        self.notice = notice
        self.changed()

    def show(self, error: Exception) -> None:
        """Show an error; one that is nobody else's to see would vanish otherwise (F33)."""
        self.error, self._error_at = error, self._clock.now()
        self.changed()

    def touch(self, *, now: bool = False) -> None:
        """A new revision, told now or with others that follow shortly. On the home loop."""
        self._revision += 1
        change, self._change = self._change, None
        if change is not None:
            change.set_result(None)
        if now:
            self._pacer.now()
        else:
            self._pacer.soon()

    def at_rest(self) -> None:
        """No run of the session's own is under way any more. On the home loop."""
        self.underway = None
        self.live.clear()
        self.touch(now=True)

    def hear(self, record: EventRecord) -> None:
        """Take in an event of the session's own run. On the home loop."""
        whole = self.live.see(record, self._clock.now())
        if whole or record.sequence is not None:
            self.touch()
        else:
            self._live_pacer.soon()

    def tick(self) -> None:
        """Time has gone on: how long a model has been silent may be news. On the home loop."""
        if self.live.tick(self._clock.now()):
            self._live_pacer.soon()

    def flush(self) -> None:
        """Send now what is due shortly, so that what is made next stands on it. On the home loop."""
        for pacer in (self._pacer, self._live_pacer):
            if pacer.due:
                pacer.now()

    async def next_change(self) -> None:
        """Return after the next change, or after a tick: an interrupt is seen only when the loop wakes.

        Not with `wait_for`, which loses a cancellation that comes together with the change.
        """
        if self._change is None:
            self._change = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._change}, timeout=TICK)

    def observe(self, callback: Callable[[SessionState], None]) -> Callable[[], None]:
        """Tell `callback` of every new document from now on; the function returned ends that. It has drawn the present one."""
        self._drawn(card.id for card in self._reader.stored.cards)
        return self.observers.add(callback)

    def _push(self) -> None:
        self._live_pacer.drop()
        self.live.take()  # the document has it
        if len(self.observers):
            document = self.document()
            self._drawn(card.id for card in document.pending)
            self.observers.tell(document)

    def _push_pieces(self) -> None:
        if self._pacer.due:
            return  # a document is about to be sent, and has them
        pieces = self.live.take()
        if pieces is not None:
            self.writing.tell(pieces)

    def _drawn(self, interrupt_ids: Iterable[str]) -> None:
        self.seen.drawn(interrupt_ids, self._clock.now())

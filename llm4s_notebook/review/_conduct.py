"""One thread's turns, driven one after the other on the session's home loop (D23)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from ..checkpoint import Clock
from ..errors import ConfigError, IncompleteRun, InvalidResume, RestoreRejected
from ..graph import RunConfig
from ..wire import SessionState
from ._answers import Pair
from ._blocked import blocked_turns
from ._board import Board, Underway
from ._breakpoints import Breakpoints
from ._decision_log import DecisionLog
from ._home import Home, in_spite_of_cancels
from ._observers import Observers
from ._reader import ThreadReader
from ._recorder import Recorder
from ._run_watch import RunWatch
from ._thread import ReviewedThread, Run

# How often the store is asked whether the thread has changed there (seconds; W1.3 allows 1).
FOLLOW_EVERY = 0.4

T = TypeVar("T")
Told = Callable[[], None]
Place: TypeAlias = tuple[str, str | None]


class Conductor:
    """Queues run, answer and recover; only `cancel` overtakes. Every method may be called from any loop or thread.

    `board` is what is shown, `reader` what the store says, `ended_by` the error that ended the last run of the session's own.
    `answered` is told the ids of admitted answers.
    """

    def __init__(
        self, thread: ReviewedThread, thread_id: str, breakpoints: Breakpoints, clock: Clock, decisions: DecisionLog | None = None
    ) -> None:
        """Raises: StoreUnavailable where nothing could be written to `decisions`."""
        self.thread = thread
        self.thread_id = thread_id
        self.breakpoints = breakpoints
        self.home = Home(self._moved)
        self.reader = ThreadReader(thread, thread_id, clock)
        self.board = Board(thread, thread_id, self.reader, breakpoints, clock, self.home)
        self.answered: Observers[tuple[str, ...]] = Observers()
        self.ended_by: Exception | None = None
        self.unasked: tuple[str, str] | None = None  # a thread, and a query that it could not be asked (D14)
        self._recorder = None if decisions is None else Recorder(decisions, thread_id, self.reader, self.board)
        self._clock = clock
        self._moved()
        self.home.adopt()

    def _moved(self) -> None:
        # Whatever belongs to a loop is made anew when the session moves to another one: the old tasks ended with their loop.
        self.board.moved()
        self._turnstile = asyncio.Lock()
        self._follower: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._queued = 0
        self._begun = 0
        self._waiters = 0

    async def between_turns(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work` while no run of this session is under way: after what was asked for before, before what is asked for later."""

        async def alone() -> T:
            async with self._turnstile:
                return await work()

        return await self.home.call(alone)

    def turn_to(self, thread: ReviewedThread, thread_id: str, reader: ThreadReader) -> None:
        """Drive another agent, or another thread, from now on; `reader` has read it. To be called between turns."""
        self.thread, self.thread_id, self.reader, self.ended_by = thread, thread_id, reader, None
        self.board.turn_to(thread, thread_id, reader)
        if self._recorder is not None:
            self._recorder.turn_to(thread_id, reader)
        self.board.touch(now=True)

    @property
    def busy(self) -> bool:
        """Whether a run of this session is under way, or queued."""
        return self._queued > 0 or self._begun > 0

    @property
    def checkpoint_id(self) -> str | None:
        """The thread's latest checkpoint as last read."""
        head = self.reader.head
        return None if head is None else head.checkpoint_id

    def observe(self, callback: Callable[[SessionState], None]) -> Told:
        """Tell `callback` of every new document from now on, and follow the store for it."""
        remove = self.board.observe(callback)
        self.home.post(self._follow)
        return remove

    # -- what a person does ------------------------------------------------------------------------------------------

    async def run(self, query: Any, config: RunConfig, *, admitted: Told | None = None, quiet: bool = False) -> Any:
        """Start a turn. `admitted` is told when it runs; `quiet` leaves a refusal to the caller to show."""

        async def admit() -> Run:
            return await self.thread.start(query, self.thread_id, self.breakpoints.applied_to(config))

        return await self.home.call(lambda: self._turn(admit, query=query, admitted=admitted, quiet=quiet))

    async def open(self, query: Any, config: RunConfig, *, again: bool = False) -> Any:
        """Start a turn unless the thread shows that it is there already (W5.4); after what was begun before."""

        async def work() -> Any:
            while self._begun > 0:
                await self.board.next_change()
            return await self._open(query, config, again)

        return await self.home.call(work)

    async def _open(self, query: Any, config: RunConfig, again: bool) -> Any:
        async def admit() -> Run | None:
            await self.reader.read()
            if not again and self._stays(query):
                return None
            return await self.thread.start(query, self.thread_id, self.breakpoints.applied_to(config))

        return await self._turn(admit, query=query)

    def begin(self, query: Any, config: RunConfig, *, again: bool = False) -> None:
        """Open in the background, as a task of the session's own."""
        self._begun += 1  # from now on, for whoever asks before the loop comes to it

        def start() -> None:
            self.own(work(), "llm4s opens a turn")

        async def work() -> None:
            try:
                with contextlib.suppress(Exception):  # shown by the turn itself, to whoever looks
                    await self._open(query, config, again)
            finally:
                self._begun -= 1
                self.board.touch(now=True)

        if not self.home.post(start):
            self._begun -= 1
            raise ConfigError(field="session", problems=["no event loop runs here; use `await session.run(…)` instead"])

    def _stays(self, query: Any) -> bool:
        stored = self.reader.stored
        if query is None or self.reader.elsewhere or stored.status in ("suspended", "unfinished"):
            return True
        if stored.status == "blocked":
            return blocked_turns.was(self.thread.checkpointer, self.thread_id, self.checkpoint_id, query)
        return stored.settled and stored.query == query

    async def answer(
        self,
        answers: Sequence[Pair],
        config: RunConfig,
        *,
        summaries: Mapping[str, str] | None = None,
        admitted: Told | None = None,
        quiet: bool = False,
    ) -> Any:
        """Answer as one resume. `summaries` says in words what is answered, for the list of what has been."""
        decided = self._clock.now()

        async def admit() -> Run:
            self.reader.refuse_answered(self.thread.graph.id, answers)
            self.reader.log.will_answer(summaries or {})
            if self._recorder is not None:
                await self._recorder.will_record(answers)
            try:
                run = await self.thread.resume(self.thread_id, answers, self.breakpoints.applied_to(config))
            except InvalidResume as refusal:
                await self.reader.read()
                raise self.reader.log.explained(refusal, self.reader.stored.waiting.values()) from refusal
            ids = tuple(interrupt_id for interrupt_id, _ in answers)
            if self._recorder is not None:  # before anything else may come between (L2.2)
                self._recorder.record(answers, at=decided, who=config.principal, run=run.run_id)
            await self.reader.read_events()  # first: a card that is gone and in no log would be an unknown one
            self.reader.without(ids)
            self.answered.tell(ids)
            return run

        async def work() -> Any:
            self.reader.refuse_answered(self.thread.graph.id, answers)  # at once, not only after the run that its first answer began
            return await self._turn(admit, admitted=admitted, quiet=quiet)

        return await self.home.call(work)

    async def recover(self, config: RunConfig, *, admitted: Told | None = None, quiet: bool = False) -> Any:
        """Continue an unfinished turn."""

        async def admit() -> Run:
            return await self.thread.recover(self.thread_id, self.breakpoints.applied_to(config))

        return await self.home.call(lambda: self._turn(admit, admitted=admitted, quiet=quiet))

    async def abandon(self, *, quiet: bool = False) -> Any:
        """Give the turn up."""

        async def admit() -> None:
            await self.thread.abandon(self.thread_id)
            await self.reader.read()

        return await self.home.call(lambda: self._turn(admit, quiet=quiet))

    def request_cancel(self) -> bool:
        """Cancel the run under way, without waiting. False where none is. To be called on the home loop."""
        underway = self.board.underway
        if underway is None:
            return False
        underway.cancelling = True
        if underway.run is not None:
            underway.run.cancel()
        self.board.touch(now=True)
        return True

    async def cancel(self) -> None:
        """Cancel the run under way and return when it is out; what is queued is not waited for."""

        async def work() -> None:
            underway = self.board.underway
            if self.request_cancel():
                while self.board.underway is underway:
                    await self.board.next_change()

        await self.home.call(work)

    async def refresh(self) -> None:
        """Look at the store, and read it again where something has changed and nothing of ours is under way."""

        async def work() -> None:
            if not self.busy and (not self.reader.was_read or await self.reader.has_changed()) and not self.busy:
                first = not self.reader.was_read
                async with self._turnstile:
                    await self.reader.read()
                self._ended_elsewhere()
                if first and self._recorder is not None:
                    self._recorder.look_for_gaps()
                self.board.touch(now=True)

        await self.home.call(work)

    def _ended_elsewhere(self) -> None:
        """Somebody else has gone on with the thread: what ended our run is history."""
        if self.board.error is self.ended_by:
            self.board.error = None
        self.ended_by = None

    async def reviewed(self, *, patient: bool = False, known: Exception | None = None, beyond: Place | None = None) -> Any:
        """Return when nothing is pending any more; raise what ended the turn, unless that is the error `known` already.

        With `patient` a turn that is not begun or not finished is waited for as well, with `beyond` until the thread is no longer there.
        """
        return await self.home.call(lambda: self._reviewed(patient, known, beyond))

    @property
    def place(self) -> Place:
        """The thread and its latest checkpoint, as last read."""
        return self.thread_id, self.checkpoint_id

    async def _reviewed(self, patient: bool, known: Exception | None, beyond: Place | None) -> Any:
        self._waiters += 1
        try:
            await self.refresh()
            self._follow()
            while True:
                stored = self.reader.stored
                if not self.busy and not self.reader.elsewhere and self.place != beyond:
                    if self.ended_by is not None and self.ended_by is not known:
                        raise self.ended_by
                    if stored.settled or (stored.status == "new" and not patient):
                        return stored.result
                    if stored.status == "unfinished" and not patient:
                        raise IncompleteRun(thread_id=self.thread_id, checkpoint_id=self.checkpoint_id or "")
                await self.board.next_change()
        finally:
            self._waiters -= 1

    # -- one turn ----------------------------------------------------------------------------------------------------

    async def _turn(
        self, admit: Callable[[], Awaitable[Run | None]], *, query: Any = None, admitted: Told | None = None, quiet: bool = False
    ) -> Any:
        self._queued += 1
        try:
            async with self._turnstile:
                return await self._drive(admit, query, admitted, quiet)
        finally:
            self._queued -= 1
            self.board.touch(now=True)

    async def _drive(self, admit: Callable[[], Awaitable[Run | None]], query: Any, admitted: Told | None, quiet: bool) -> Any:
        board = self.board
        underway = board.underway = Underway(query, self._clock.now())
        board.touch(now=True)
        if len(board.observers):
            self._follow()  # who observed before there was a loop is followed for from now on
        try:
            if not self.reader.was_read:
                await self.reader.read()
                if self._recorder is not None:
                    self._recorder.look_for_gaps()
            run = await admit()
        except BaseException as error:
            if isinstance(error, RestoreRejected) and isinstance(query, str):
                self.unasked = self.thread_id, query
            await self._refused(error, quiet)
            raise
        if run is None:
            self.board.at_rest()
            return self.reader.stored.result
        underway.run, board.notice, board.error, self.ended_by = run, None, None, None
        if query is not None and self._recorder is not None:
            self._recorder.asked(query, run.run_id)
        if underway.trouble is not None:
            board.show(underway.trouble)
        if underway.cancelling:
            run.cancel()
        if admitted is not None:
            admitted()
        board.touch(now=True)
        return await self._see_through(run, underway)

    async def _refused(self, error: BaseException, quiet: bool) -> None:
        """Nothing runs; what the thread shows now may be why. A caller that was cancelled meanwhile leaves a cancelled run."""
        if isinstance(error, Exception) and not quiet:
            self.board.show(error)
        await in_spite_of_cancels(self.own(self._read_at_rest(), "llm4s session reads"))

    async def _read_at_rest(self) -> None:
        try:
            await self.reader.read()
        except Exception as unreadable:
            self.board.show(unreadable)
        finally:
            self.board.at_rest()

    async def _see_through(self, run: Run, underway: Underway) -> Any:
        """Follow an admitted run to its end, and draw what it has come to."""
        watch = RunWatch(run, underway, self.reader, self.board, talks=self.thread.is_agent)
        listener = self.own(watch.listen(), "llm4s session events")
        outcome = asyncio.ensure_future(_outcome(run))
        try:
            try:
                await watch.until(outcome)
            except asyncio.CancelledError:  # the caller gives the run up (D2)
                underway.cancelling = True
                run.cancel()
                self.board.touch(now=True)
                await in_spite_of_cancels(outcome)
                raise
            return outcome.result()
        finally:
            await in_spite_of_cancels(self.own(self._settle(outcome, listener, underway.query, run.run_id), "llm4s session settles"))

    async def _settle(self, outcome: asyncio.Future[Any], listener: asyncio.Task[None], query: Any, run_id: str) -> None:
        try:
            ended_by = outcome.exception()
            if isinstance(ended_by, Exception):
                self.ended_by = ended_by
                self.board.show(ended_by)
            listener.cancel()
            if ended_by is None:
                turn_query = query if query is not None else self.reader.stored.query
                await self.reader.settle(outcome.result(), run_id)
                if self.reader.stored.status == "blocked":
                    blocked_turns.note(self.thread.checkpointer, self.thread_id, self.checkpoint_id, turn_query)
            else:
                await self.reader.read()
        except Exception as unreadable:  # the run's own outcome stands
            self.board.show(unreadable)
        finally:
            self.board.at_rest()

    # -- following the store -----------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Follow the store while anybody looks. On the home loop."""
        if self._follower is None or self._follower.done():
            self._follower = self.own(self._follow_store(), "llm4s session follows its store")

    async def _follow_store(self) -> None:
        failed = False
        while len(self.board.observers) or self._waiters:
            try:
                await self.refresh()
                failed = False
            except Exception as error:
                if not failed:  # once, not again every time
                    self.board.show(error)
                failed = True
            await asyncio.sleep(FOLLOW_EVERY)

    def own(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Run `work` as a task this session keeps. On the home loop."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _outcome(run: Run) -> Any:
    return await run

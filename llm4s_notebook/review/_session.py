"""`Session`: one thread driven for a person. Any number of views may draw it; none is needed.

What lies where: the thread is in its store, and `_reader.py` reads it again whenever it may have changed there. Drafts and
the person's breakpoints are here and nowhere else. `_conduct.py` runs the turns, one after the other; `_project.py` makes
the document that views draw; `_requests.py` carries out what a browser asks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ..agent import Agent
from ..agent.events import ModelCallCompleted
from ..checkpoint import Checkpoint, Clock, SystemClock
from ..errors import CheckpointNotFound, ConfigError, RestoreRejected, ThreadNotFound
from ..graph import Answers, Command, RunConfig, ThreadState
from ..wire import Pieces, SessionState
from ._agent_thread import AgentThread
from ._answers import pairs
from ._breakpoints import Breakpoints
from ._conduct import Conductor
from ._course import Course, led
from ._decision_log import DecisionLog
from ._drafts import Drafts
from ._graph_thread import GraphThread
from ._requests import Desk, Say
from ._thread import ReviewedThread
from ._ways import naming_ways, offer_in_code


def _new_thread_id() -> str:
    return f"thread-{uuid4().hex[:12]}"


class Session:
    """Drives one thread for a person; what every widget observes.

    Usable from several event loops and threads: its work runs on the first running loop it is used from (D23). Its own
    run, answer and recover are carried out one after the other; only cancel overtakes. Each of them returns the result, or
    raises the refusal or the error that ended the run, and shows it in the document as well.
    """

    def __init__(
        self,
        target: Agent | GraphThread,
        thread_id: str | None = None,
        *,
        principal: str | None = None,
        config: RunConfig = RunConfig(),  # noqa: B008 - frozen, the same for all
        decisions: DecisionLog | None = None,
        clock: Clock = SystemClock(),  # noqa: B008 - holds no state
        new_thread_id: Callable[[], str] = _new_thread_id,
    ) -> None:
        """With `decisions` every admitted answer is recorded there, also one given in code (L2).

        Raises: ConfigError for a target, thread id, config or log that is none; StoreUnavailable where that log cannot be written.
        """
        wanted = (
            ("an Agent or a GraphThread", target, Agent | GraphThread),
            ("a thread's id", thread_id, str | None),
            ("a RunConfig", config, RunConfig),
        )
        problems = [f"{what} is wanted, not {type(given).__name__}" for what, given, kind in wanted if not isinstance(given, kind)]
        if problems:
            raise ConfigError(field="session", problems=problems)
        self._graph = target if isinstance(target, GraphThread) else None
        thread: ReviewedThread = target if isinstance(target, GraphThread) else AgentThread(target)
        self._config = config if principal is None else replace(config, principal=principal)
        self._decisions = decisions
        self._clock = clock
        self._new_thread_id = new_thread_id
        begin_on = thread_id if thread_id is not None else new_thread_id()
        self.breakpoints = Breakpoints(lambda node, phase: self._thread.expand(node, phase), self._holds_changed)
        self.drafts = Drafts()
        self._conductor = Conductor(thread, begin_on, self.breakpoints, clock, decisions)
        self._desk = Desk(self._conductor, self.drafts, self._config)
        self._course: Course | None = None
        if isinstance(target, Agent):
            self._course = Course(target, self._conductor, self.breakpoints, self.drafts, clock, new_thread_id)
            self._course.told = self._desk.push_drafts
            self._desk.course, self._conductor.board.editor = self._course, self._course.view

    @property
    def _thread(self) -> ReviewedThread:
        return self._conductor.thread

    @property
    def thread_id(self) -> str:
        """The thread it drives now."""
        return self._conductor.thread_id

    def _holds_changed(self) -> None:
        self._conductor.board.changed()

    # -- what a person does ------------------------------------------------------------------------------------------

    async def run(self, query: Any) -> Any:
        """Start a turn and return its result.

        Raises: the refusals of `agent.run`, and then nothing has changed; the error that ended the run. Cancelling this
        cancels the run and waits for it (D2).
        """
        return await self._named(self._conductor.run(query, self._config))

    def begin(self, query: Any, *, again: bool = False) -> None:
        """`open` in the background: returns at once, and how it goes is drawn. Raises: ConfigError where no event loop runs."""
        self._conductor.begin(query, self._config, again=again)

    async def open(self, query: Any = None, *, again: bool = False) -> Any:
        """Like `run`, but safe to repeat (W5.4): returns at once where the thread waits, is unfinished or runs elsewhere,
        and where its last turn had this very query. `again` runs anew. Without a query it only reads the thread.

        A blocked turn keeps nothing, so whether it had this query is known only in the kernel in which it was blocked.
        """
        return await self._named(self._conductor.open(query, self._config, again=again))

    async def answer(self, answers: Answers) -> Any:
        """Answer some or all of what waits, as one resume (D6), and return the result.

        Raises: InvalidResume, telling answered from unknown ids and naming what is pending now; the other refusals of
        `agent.resume`; the error that ended the run.
        """
        return await self._named(self._conductor.answer(pairs(answers), self._config))

    async def recover(self) -> Any:
        """Continue an unfinished turn and return its result. Raises: as `agent.recover`."""
        return await self._named(self._conductor.recover(self._config))

    async def abandon(self) -> Any:
        """Give up a turn that waits or is unfinished: nothing of it is kept, and the thread is usable."""
        return await self._named(self._conductor.abandon())

    async def _named(self, work: Awaitable[Any]) -> Any:
        """What is refused because the thread does not fit the agent names the ways on (W4.6)."""
        try:
            return await work
        except RestoreRejected as rejected:
            named = rejected if self._course is None else naming_ways(rejected, self._course.view().ways)
            if named is rejected:
                raise
            raise named from rejected

    # -- another prompt, other options (W4.5, W4.6) ------------------------------------------------------------------

    async def use(self, agent: Agent) -> None:
        """Go on with a changed agent, `session.target.with_(…)`; returns when no run is under way and it has taken effect.

        Where its thread was stored by another version, `offer` says so, runs and answers are refused as ever (D14), and one of the
        next two methods goes on. Raises: ConfigError for an agent of another id or store; StoreUnavailable; nothing is changed then.
        """
        await led(self._course).use(agent)

    async def finish_with_old_agent(self) -> None:
        """Go on with this thread as it began; `target` stays the changed agent, for a new thread.

        Raises: ConfigError where there is no need, or where the agent that stored the thread is not in this kernel.
        """
        await led(self._course).go_on("old_agent")

    async def new_thread(self, *, history: bool = True) -> str:
        """Leave this thread as it is for a new one, and return its id.

        It begins with the messages before the turn that is open; without `history` it is empty. Nothing is stored of it before
        its first turn. What the person holds on the diagram stays behind. Raises: ConfigError where nothing was said on this one.
        """
        await led(self._course).go_on("new_thread" if history else "empty_thread")
        return self.thread_id

    async def back(self) -> None:
        """Return to the thread that was left, while nothing was said on the new one. Raises: ConfigError."""
        await led(self._course).go_on("back")

    @property
    def offer(self) -> str | None:
        """Why the thread does not go on with the changed agent, and the calls that are open; None where it does."""
        if self._course is None:
            return None
        view = self._course.view()
        return offer_in_code(view.offer, view.ways)

    async def cancel(self) -> None:
        """Cancel the run under way and return when it is out. It overtakes whatever is queued; with no run it is nothing."""
        await self._conductor.cancel()

    async def reviewed(self) -> Any:
        """Return the result when nothing is pending any more, wherever it is answered.

        Raises: the error that ended the turn; IncompleteRun for one that nobody continues. Ends within a quarter of a second
        of a kernel's interrupt, and then leaves everything as it is.
        """
        return await self._conductor.reviewed()

    async def wait(self, *, known: Exception | None = None, unasked: bool = False) -> Any:
        """Like `reviewed`, for a cell in front of which somebody sits: a turn not begun or not finished is waited for too.

        `known` is an `ended_by` that the person has seen before, and is not raised again. With `unasked` the turn that is waited for
        was refused because its thread does not fit the agent (`offer`): what the thread holds now is not its result.
        """
        return await self._conductor.reviewed(patient=True, known=known, beyond=self._conductor.place if unasked else None)

    # -- what views draw ---------------------------------------------------------------------------------------------

    @property
    def target(self) -> Agent | GraphThread:
        """What it drives; of an agent the one last chosen, also while the thread is finished with the old one."""
        return self._graph if self._course is None else self._course.target  # pyright: ignore[reportReturnType]  # one of the two is there

    @property
    def result(self) -> Any:
        """The last result: of the last run here, or of the thread as last read from its store."""
        return self._conductor.reader.stored.result

    @property
    def turn(self) -> str | None:
        """The id of the run that began the present turn, as last read; None where the thread's events do not say."""
        return self._conductor.reader.log.turn

    @property
    def running(self) -> bool:
        """Whether a run of this session is under way."""
        return self._conductor.board.underway is not None

    @property
    def error(self) -> Exception | None:
        """The error shown: of the last refused call or failed run, or of a log not written; None once a run is admitted."""
        return self._conductor.board.error

    @property
    def ended_by(self) -> Exception | None:
        """What ended the session's last run, if it failed and nobody has gone on with the thread since."""
        return self._conductor.ended_by

    @property
    def checkpoint_id(self) -> str | None:
        """The thread's latest checkpoint as last read."""
        return self._conductor.checkpoint_id

    @property
    def calls(self) -> tuple[ModelCallCompleted, ...]:
        """The model calls of the present turn, as last read: seconds, seconds until the first piece, attempts, usage (W4.9)."""
        return self._conductor.reader.calls.of_turn()

    def waiting(self) -> dict[str, str]:
        """What waits, by interrupt id, each in one line."""
        return dict(self._conductor.reader.stored.waiting)

    def state(self) -> SessionState:
        """The document the views draw, as it is now."""
        return self._conductor.board.document()

    def observe(self, callback: Callable[[SessionState], None]) -> Callable[[], None]:
        """Call `callback` with each new document; the function returned ends that.

        It is called on the session's own loop. While anybody observes, the store is followed, so that what is done in
        another kernel is told within a second (W1.3).
        """
        return self._conductor.observe(callback)

    def observe_writing(self, callback: Callable[[Pieces], None]) -> Callable[[], None]:
        """Call `callback` with what a model has written since the last document or piece, at most 20 times a second (W4.7).

        For who observes the documents as well: each holds what was written before it.
        """
        return self._conductor.board.writing.add(callback)

    def observe_drafts(self, callback: Callable[[Say], None]) -> Callable[[], None]:
        """Call `callback` with a message whenever the drafts have changed (W1.4)."""
        return self._desk.pushes.add(callback)

    async def refresh(self) -> None:
        """Read the thread again if its store has something new."""
        await self._conductor.refresh()

    def notice(self, text: str | None) -> None:
        """Show one line to the person; None takes it away. The next run does too."""
        self._conductor.board.say(text)

    def show(self, error: Exception) -> None:
        """Show an error in the views."""
        self._conductor.board.show(error)

    def handle(self, content: object, reply: Callable[[Say], None], *, read_only: bool = False) -> None:
        """Carry out a browser's request and reply exactly once, from whatever thread it arrives on (W1.5).

        With `read_only` every request but a hello is refused.
        """
        self._desk.receive(content, reply, read_only=read_only)

    # -- the thread's past -------------------------------------------------------------------------------------------

    async def history(self, *, before: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """The thread's checkpoints, newest first."""
        return await self._thread.runtime.history(self.thread_id, before=before, limit=limit)

    async def state_at(self, checkpoint_id: str) -> ThreadState:
        """The thread's state at a checkpoint. Raises: CheckpointNotFound; RestoreRejected."""
        checkpoint = await self._thread.checkpointer.checkpoint(self.thread_id, checkpoint_id)
        if checkpoint is None:
            raise CheckpointNotFound(thread_id=self.thread_id, checkpoint_id=checkpoint_id)
        return self._thread.graph.restore(checkpoint).state

    async def edit_state(self, update: Command) -> None:
        """Change the state of a suspended or finished thread. Raises: ThreadNotFound; the refusals of `update_state`."""
        head = await self._thread.checkpointer.head(self.thread_id)
        if head.checkpoint_id is None:
            raise ThreadNotFound(thread_id=self.thread_id)
        await self._thread.runtime.update_state(self.thread_id, self._thread.graph, head.checkpoint_id, update)
        await self.refresh()

    async def fork(self, checkpoint_id: str, thread_id: str | None = None) -> Session:
        """A new thread that begins at a checkpoint of this one, and a session that drives it. Raises: as `runtime.fork`."""
        target = thread_id if thread_id is not None else self._new_thread_id()
        await self._thread.runtime.fork(self.thread_id, checkpoint_id, target)
        return Session(
            self.target if self._course is None else self._course.driven,
            target,
            config=self._config,
            decisions=self._decisions,
            clock=self._clock,
            new_thread_id=self._new_thread_id,
        )

    def __repr__(self) -> str:
        return f"Session({self._thread.title!r}, thread_id={self.thread_id!r}: {self.state().status_text})"

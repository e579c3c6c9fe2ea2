"""`review`: a cell that shows a turn, waits for the person, and ends with the turn's result (W5.1)."""

from __future__ import annotations

import asyncio
import inspect
import os
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from ..agent import Agent, AgentResult, PendingReview
from ..errors import ConfigError, IncompleteRun, PendingInterrupts, RestoreRejected, RunCancelled, ThreadBusy
from ..graph import Answer, Answers, PendingInterrupt, RunConfig, Suspended
from ._answers import Pair, pairs
from ._decision_log import DecisionLog
from ._decisions import Decisions
from ._front_end import FrontEnd, front_end
from ._graph_thread import GraphThread
from ._home import in_spite_of_cancels, ticking
from ._interrupted import say_interrupted
from ._replay import Replay, UnusedDecisions
from ._session import Session

Reviewer: TypeAlias = Callable[[Any], Answer | Awaitable[Answer | None] | None]
"""Is given each thing that waits - a `PendingReview` of an agent's turn, a `PendingInterrupt` of a graph's - and answers it, or
does not (None)."""


async def review(
    target: Agent | GraphThread | Session,
    query: Any = None,
    *,
    thread_id: str | None = None,
    answers: Answers | Reviewer | DecisionLog | Decisions | None = None,
    unattended: Answers | Reviewer | DecisionLog | Decisions | None = None,
    principal: str | None = None,
    config: RunConfig = RunConfig(),  # noqa: B008 - frozen, the same for all
    decisions: DecisionLog | None = None,
    again: bool = False,
) -> Any:
    """Run a turn, show its console, and return its result when the turn has ended.

    With a `thread_id` the cell may be run again (W5.4): a waiting thread is shown and the query ignored, an unfinished one is
    shown with *recover*, and one whose last turn had this very query shows its result; `again` runs anew. Without a query the
    thread is shown as it stands. A `Session` as target is driven as it is, and then the other arguments are its own.

    `answers` makes it headless: nothing is shown, and what waits is answered from them. `unattended` is the same for the
    case that nobody is there - the running request allows no input, or there is no notebook. A `DecisionLog`, or some of its
    decisions (`log.of(…)`), answers as it was decided then, on the same thread or another one (L3).

    `decisions` is a log in which every answer is recorded.

    While a person is awaited an interrupt ends the wait only: the cards stay answerable. While a model or a tool runs it
    cancels the run, which `recover` finishes. Both raise a CancelledError that says in two lines how to go on.

    Raises: ConfigError at once where a cell cannot wait; PendingInterrupts naming what waits where nobody is there to answer
    it; DecisionMismatch where a recorded decision was made on something else than waits; IncompleteRun where nobody is there to
    recover it; the refusals of `agent.run`; the error that ended the turn.
    """
    if isinstance(target, Session):
        given = {"thread_id": thread_id, "principal": principal, "decisions": decisions}
        problems = [f"{name} belongs to the session and cannot be changed here" for name, value in given.items() if value is not None]
        if problems:
            raise ConfigError(field="review", problems=problems)
        session = target
    else:
        session = Session(target, thread_id, principal=principal, config=config, decisions=decisions)
    front = front_end() if answers is None else None
    if answers is not None or front is None or not front.somebody_there():
        return await _headless(session, query, answers if answers is not None else unattended, again)
    reason = front.cannot_wait()
    if reason is not None:
        raise ConfigError(field="review", problems=[reason])
    return await _attended(session, query, again, front)


# -- somebody is there -----------------------------------------------------------------------------------------------


async def _attended(session: Session, query: Any, again: bool, front: FrontEnd) -> Any:
    known = session.ended_by
    front.show(session)
    turn = asyncio.ensure_future(session.open(query, again=again))
    try:
        await ticking(turn)
        unasked = _unasked(turn, session)
        if session.state().can_recover:
            before = session.state().notice
            unfinished = "the last run did not finish, and this cell waits until the turn has ended: Recover goes on with it"
            session.notice(f"{unfinished} · {before}" if before else unfinished)
        return await session.wait(known=known, unasked=unasked)
    except RunCancelled as cancelled:  # by a click: the buttons that go on with it stand right above
        cancelled.placed("", f"Recover above finishes the turn; to wait for it again: {how_to_wait(session)}")
        raise
    except asyncio.CancelledError as cancelled:
        nothing_ran = turn.done() and not session.running
        if not turn.done():
            turn.cancel()  # which cancels its run, if it has one, and waits for it (D2)
            await in_spite_of_cancels(turn)
        if session.running:  # a run that a click or another cell began: what this cell waits for is the turn
            await in_spite_of_cancels(asyncio.ensure_future(session.cancel()))
        _say_interrupted(cancelled, session, nothing_ran)
        raise


def _say_interrupted(cancelled: asyncio.CancelledError, session: Session, nothing_ran: bool) -> None:
    """Words for the end of a cell that waits no more; the console goes on, and says so where only the wait has ended."""
    state = session.state()
    does = "Recover goes on" if state.can_recover else "answer" if state.pending else "go on"
    again = f"to wait again: {how_to_wait(session)}"
    if nothing_ran:
        session.notice(f"no cell waits any more. {does[0].upper()}{does[1:]} here all the same; {again}")
    what = "this cell waits no more, and nothing is lost" if nothing_ran else "the run was cancelled, and nothing that was stored is lost"
    say_interrupted(cancelled, what, f"{does} above all the same; {again}")


def _unasked(turn: asyncio.Future[Any], session: Session) -> bool:
    """Whether the thread does not fit the cell's agent, so that the console offers ways on (D14). Raises: what else ended the turn."""
    try:
        turn.result()
    except RestoreRejected:
        if session.offer is None:
            raise
        return True
    return False


def how_to_wait(session: Session) -> str:
    """The line of code that waits for this thread again."""
    name = "graph" if isinstance(session.target, GraphThread) else "agent"
    editor = session.state().editor
    changed = editor is not None and editor.agents[0].code is not None
    line = f'await review({name}, "…", thread_id="{session.thread_id}")'
    return f"{line}, with the agent as changed here (As code)" if changed else line


# -- nobody is there -------------------------------------------------------------------------------------------------


Given: TypeAlias = Answers | Reviewer | DecisionLog | Decisions | None


async def answered_from(session: Session, query: Any, answers: Given) -> Any:
    """Run a turn that nobody watches. Raises: PendingInterrupts naming what waits and has no answer; what ended the turn."""
    return await _headless(session, query, answers, again=True)


async def _headless(session: Session, query: Any, reviewer: Given, again: bool) -> Any:
    answer = await _answering(session, query, reviewer)
    result = await session.open(query, again=again)
    while True:
        state = session.state()
        match state.status:
            case "suspended":
                given = await answer()
                if not given:
                    waiting = session.waiting()
                    raise PendingInterrupts(
                        thread_id=session.thread_id, interrupt_ids=waiting, details=[*waiting.values(), *answer.unused()]
                    )
                result = await session.answer(given)
            case "unfinished":
                raise session.ended_by or IncompleteRun(thread_id=session.thread_id, checkpoint_id=session.checkpoint_id or "")
            case "running":
                raise ThreadBusy(thread_id=session.thread_id)
            case "new":
                raise ConfigError(field="query", problems=["the thread is new and no query is given, so there is nothing to review"])
            case _:
                answer.ended()
                return result


def _waiting(result: AgentResult | Suspended) -> Sequence[PendingReview | PendingInterrupt]:
    return result.interrupts if isinstance(result, Suspended) else result.pending


class _Answering(Protocol):
    """Where the answers come from when nobody is there."""

    async def __call__(self) -> list[Pair]:
        """Answers to some or all of what waits now; none when there are none."""
        ...

    def unused(self) -> list[str]:
        """Says of answers given beforehand that they were not asked for."""
        ...

    def ended(self) -> None:
        """The turn has ended."""
        ...


async def _answering(session: Session, query: Any, given: Given) -> _Answering:
    if isinstance(given, DecisionLog | Decisions):
        await session.refresh()
        decisions = given.of() if isinstance(given, DecisionLog) else given
        in_the_middle = session.state().status in ("suspended", "unfinished")
        turn = decisions.for_turn(query, session.turn, open=in_the_middle)
        return _Recorded(session, Replay(turn, decisions.instead, session.thread_id), decisions.file)
    return _Asked(session, given) if callable(given) else _Prepared(session, _read(given))


def checked_answers(given: Given) -> Given:
    """The same answers, in a form that can be read more than once. Raises: ConfigError for what are none."""
    return given if isinstance(given, DecisionLog | Decisions) or callable(given) else _read(given)


def _read(given: Answers | None) -> Sequence[Pair]:
    """Answers given beforehand. Raises: ConfigError for what are none."""
    if isinstance(given, str | os.PathLike):
        raise ConfigError(
            field="answers",
            problems=["a path is no answer"],
            next_step=f"to replay a decision log give answers=DecisionLog({os.fspath(given)!r}); nothing ran",
        )
    return pairs(given) if given is not None else ()


class _Prepared:
    """Answers given beforehand, each used once, when what it answers waits."""

    def __init__(self, session: Session, answers: Sequence[Pair]) -> None:
        self._session = session
        self._left = list(answers)

    async def __call__(self) -> list[Pair]:
        ids = self._session.waiting()
        found = [pair for pair in self._left if pair[0] in ids]
        self._left = [pair for pair in self._left if pair[0] not in ids]
        return found

    def unused(self) -> list[str]:
        return [f"an answer was given for '{id}', under which nothing waited" for id, _ in self._left]

    def ended(self) -> None:
        pass


class _Asked:
    """A function that is asked about each thing that waits."""

    def __init__(self, session: Session, reviewer: Reviewer) -> None:
        self._session = session
        self._reviewer = reviewer

    async def __call__(self) -> list[Pair]:
        answers: list[Pair] = []
        for pending in _waiting(self._session.result):
            answer = self._reviewer(pending)
            if inspect.isawaitable(answer):
                answer = await answer
            if answer is not None:
                answers.append(answer)
        return answers

    def unused(self) -> list[str]:
        return []

    def ended(self) -> None:
        pass


class _Recorded:
    """What was decided once, given again."""

    def __init__(self, session: Session, replay: Replay, file: str) -> None:
        self._session = session
        self._replay = replay
        self._file = file
        self._begun = False

    async def __call__(self) -> list[Pair]:
        self._begin()
        return self._replay.next(self._session.state().pending)

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._replay.answered_before([answered.id for answered in self._session.state().answered])

    def unused(self) -> list[str]:
        return self._replay.unused() or [f"{self._file} has no decision left for this turn"]

    def ended(self) -> None:
        """A turn that ended early went another way than the recorded one, and whoever replays it is told (L3.4)."""
        self._begin()
        if unused := self._replay.unused():
            told = f"the turn on thread '{self._session.thread_id}' has ended, and {'; '.join(unused)}"
            self._session.notice(told)
            warnings.warn(UnusedDecisions(told), stacklevel=2)

"""What a browser asks, carried out: a request in, exactly one reply out, failures too (W1.5).

A message can only name interrupts that wait here, and switches that the diagram has; whatever else it carries is refused
(F12, F25). An edit is checked against the waiting call's own tool, as the form checks it (D25).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

from ..errors import ConfigError, InvalidResume, ResumeProblem
from ..graph import BreakpointPhase, RunConfig
from ..wire import (
    Abandon,
    Cancel,
    ChangeAgent,
    Done,
    GoOn,
    Hello,
    JsonObject,
    Problem,
    Recover,
    Refusal,
    Request,
    Run,
    SaveDraft,
    SetHold,
    Submit,
    WayOn,
    Welcome,
    request_adapter,
)
from ..wire import Drafts as DraftsMessage
from ._agent_form import FormRefused, changed
from ._check import checked
from ._conduct import Conductor
from ._course import Course, led
from ._drafts import FORM, Drafts, without_secrets
from ._observers import Observers
from ._project import error_view
from ._receipts import Receipt, Receipts

Say = Done | Welcome | Refusal | DraftsMessage
Reply = Callable[[Say], None]


class Desk:
    """Takes a session's requests. `pushes` are told of changed drafts."""

    def __init__(self, conductor: Conductor, drafts: Drafts, config: RunConfig) -> None:
        self.pushes: Observers[Say] = Observers()
        self._conductor = conductor
        self._drafts = drafts
        self._config = config
        self.course: Course | None = None
        self._receipts: Receipts[Request, Say] = Receipts(request_adapter, _refusal)
        conductor.answered.add(self._forget_drafts)

    def receive(self, content: object, reply: Reply, *, read_only: bool = False) -> None:
        """Check the message's shape where it arrives, and carry it out on the session's loop."""
        taken = self._receipts.take(content, reply, _changes_something if read_only else lambda _: None)
        if taken is None:
            return
        request, receipt = taken
        if not self._conductor.home.post(lambda: self._begin(request, receipt)):
            problem = "no event loop runs that could carry it out; use the widget in a notebook's kernel"
            self._receipts.close(receipt, _refusal(request.request_id, ConfigError(field="session", problems=[problem])))

    def _begin(self, request: Request, receipt: Receipt[Say]) -> None:
        self._conductor.own(self._answer(request, receipt), f"llm4s request {request.request_id}")

    async def _answer(self, request: Request, receipt: Receipt[Say]) -> None:
        try:
            answer = await self._carry_out(request)
        except asyncio.CancelledError:  # the loop is closing; the person is told all the same
            stopping = ConfigError(field="session", problems=["the kernel is stopping"])
            self._receipts.close(receipt, _refusal(request.request_id, stopping))
            raise
        except Exception as error:
            answer = _refusal(request.request_id, error)
        self._receipts.close(receipt, answer)

    # -- one request -------------------------------------------------------------------------------------------------

    async def _carry_out(self, request: Request) -> Say:
        conductor, body = self._conductor, request.body
        match body:
            case Hello():
                await conductor.refresh()
                conductor.board.flush()
                state = conductor.board.document()
                drafts = self._drafts.all()
                return Welcome(kind="welcome", request_id=request.request_id, revision=state.revision, drafts=drafts, live=state.live)
            case Run(query=query):
                await self._admitted(lambda told: conductor.run(query, self._config, admitted=told, quiet=True))
                said = "started"
            case Submit():
                said = await self._submit(body)
            case Cancel():
                said = "cancelling" if conductor.request_cancel() else "nothing was running"
            case Recover():
                await self._admitted(lambda told: conductor.recover(self._config, admitted=told, quiet=True))
                said = "recovering"
            case Abandon():
                await conductor.abandon(quiet=True)
                said = "given up; nothing of the turn is kept"
            case SetHold(node=node, phase=phase, on=on):
                conductor.breakpoints.hold(node, BreakpointPhase[phase], on)
                said = f"{'hold' if on else 'no hold'} {phase.lower()} {node}" + (
                    " from the next run or resume" if conductor.board.underway is not None else ""
                )
            case ChangeAgent(agent=agent, value=value):
                said = await self._change(agent, value)
            case GoOn(way=way, thread_id=thread_id):
                said = await self._go_on(way, thread_id)
            case SaveDraft():
                said = self._save_draft(body, request.request_id)
        return Done(kind="done", request_id=request.request_id, said=said)

    async def _submit(self, submit: Submit) -> str:
        conductor = self._conductor
        known = {card.id for card in conductor.reader.stored.cards}
        if not known.issuperset(decision.id for decision in submit.decisions):
            await conductor.refresh()  # it may have come to wait in another kernel a moment ago
        sending = checked(submit.decisions, conductor.reader, conductor.thread)
        await self._admitted(
            lambda told: conductor.answer(sending.answers, self._config, summaries=sending.summaries, admitted=told, quiet=True)
        )
        return sending.said

    async def _change(self, agent: str, value: JsonObject) -> str:
        course = led(self.course)
        made = changed(course.target, agent, value)
        busy = self._conductor.busy
        task = self._conductor.own(course.use(made), "llm4s another agent")
        if busy:
            task.add_done_callback(lambda done: self._too_late(done, FORM + agent, value))
        else:
            await task
        self._forget_drafts((FORM + agent,))
        if busy:
            return "applies when the run under way has ended"
        return "choose how to go on" if self._conductor.reader.stored.unfit is not None else "applied"

    def _too_late(self, task: asyncio.Task[None], id: str, value: JsonObject) -> None:
        """A change that was taken on trust, since a run was under way, did not come about: it is shown, and a draft again."""
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            self._conductor.board.show(error)
            self._drafts.save(id, {"value": value})
            self._push_drafts(None)

    async def _go_on(self, way: WayOn, thread_id: str) -> str:
        course, conductor = led(self.course), self._conductor
        if conductor.busy:
            raise ConfigError(field="session", problems=["a run is under way"], next_step="cancel it, or choose when it has ended")
        if thread_id != conductor.thread_id:
            problem = f"the session drives thread {conductor.thread_id} by now, not {thread_id}"
            raise ConfigError(field="session", problems=[problem], next_step="look at it again; nothing was changed")
        await course.go_on(way)
        return "finishing with the old agent" if way == "old_agent" else f"on thread {conductor.thread_id}"

    def push_drafts(self) -> None:
        """Tell every view the drafts."""
        self._push_drafts(None)

    def _forget_drafts(self, answered: tuple[str, ...]) -> None:
        """What is answered, here or in code, needs no draft any more (W1.4)."""
        if self._drafts.forget(answered):
            self._push_drafts(None)

    def _save_draft(self, body: SaveDraft, request_id: str) -> str:
        reader = self._conductor.reader
        forms = [] if self.course is None else [FORM + id for id in self.course.target.family]
        if body.draft is not None and body.id not in reader.stored.waiting and body.id not in forms:
            problem = ResumeProblem(interrupt_id=body.id, code="unknown", message="nothing of that id waits")
            refusal = InvalidResume(graph_id=self._conductor.thread.graph.id, problems=[problem])
            raise reader.log.explained(refusal, reader.stored.waiting.values())
        try:
            card = next((card for card in reader.stored.cards if card.id == body.id), None)
            self._drafts.save(body.id, without_secrets(body.draft, card))
        except ValueError as error:
            raise ConfigError(field="draft", problems=[str(error)]) from error
        self._push_drafts(request_id)
        return ""

    def _push_drafts(self, origin: str | None) -> None:
        self.pushes.tell(DraftsMessage(kind="drafts", origin=origin, drafts=self._drafts.all()))

    async def _admitted(self, begin: Callable[[Callable[[], None]], Coroutine[Any, Any, Any]]) -> None:
        """Begin a run in the background and return when it is admitted. Raises: what refused it.

        How the run ends is drawn by the session; nobody waits for it here.
        """
        admission: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def admitted() -> None:
            if not admission.done():
                admission.set_result(None)

        task = self._conductor.own(begin(admitted), "llm4s run of a request")

        def ended(task: asyncio.Task[Any]) -> None:
            error = None if task.cancelled() else task.exception()
            if admission.done():
                return  # admitted: an error that came later is in the document
            if error is not None:
                admission.set_exception(error)
            else:
                admission.set_result(None)

        task.add_done_callback(ended)
        await admission


# -- refusals in the words of the wire -------------------------------------------------------------------------------


def _refusal(request_id: str, error: Exception) -> Refusal:
    problems = [_problem(problem) for problem in error.problems] if isinstance(error, InvalidResume) else []
    if isinstance(error, FormRefused):
        problems = [_fault(FORM + error.agent, path, message) for path, message in error.faults]
    return Refusal(kind="refused", request_id=request_id, error=error_view(error, datetime.now(UTC)), problems=problems)


def _problem(problem: ResumeProblem) -> Problem:
    return Problem(
        interrupt_id=problem.interrupt_id,
        path=list(problem.path),
        code=problem.code,
        message=problem.message,
        answered_at_ms=None if problem.answered_at is None else int(problem.answered_at.timestamp() * 1000),
        answered_by=problem.answered_by,
    )


def _fault(id: str, path: tuple[str, ...], message: str) -> Problem:
    """A fault of a form, as one of the answer with that id (W2.7)."""
    return Problem(interrupt_id=id, path=list(path), code="invalid", message=message, answered_at_ms=None, answered_by=None)


def _changes_something(request: Request) -> ConfigError | None:
    """Why a view that only shows refuses a request."""
    if isinstance(request.body, Hello):
        return None
    return ConfigError(field="view", problems=["this view is read-only: it shows and changes nothing"])

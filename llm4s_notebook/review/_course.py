"""With which agent, and on which thread, a session goes on (W4.6, D14).

A thread goes on under the version of the agent that stored it. Where an agent was changed so that its version is another one,
nothing is decided for the person: the thread is finished with the old agent, or left as it is for a new one that begins with its
messages. None of this writes to a store. What can fail is read first, and then all changes at once, between two turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..agent import Agent
from ..checkpoint import Clock
from ..errors import ConfigError
from ..models import conversation_problems
from ..wire import EditedAgent, EditorView, JsonObject, WayOn, WayOnView
from ._agent_form import forms
from ._agent_thread import AgentThread
from ._breakpoints import Breakpoints, Holds
from ._conduct import Conductor
from ._drafts import Drafts
from ._reader import ThreadReader
from ._ways import offer, said_of, ways, what_changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Left:
    """A thread that was left, and what belongs to it alone."""

    thread_id: str
    finishing: str | None
    old: Agent | None
    holds: Holds
    drafts: JsonObject


class Course:
    """Where an agent's session goes. `finishing` says what differs while the thread goes on without the agent last chosen."""

    def __init__(
        self, agent: Agent, conductor: Conductor, breakpoints: Breakpoints, drafts: Drafts, clock: Clock, new_thread_id: Callable[[], str]
    ) -> None:
        self.finishing: str | None = None
        self.suggested: str | None = None
        self.told = lambda: None
        """Called when the drafts have changed."""
        self._given = agent
        self._chosen = agent  # the last that took effect
        self._wanted: list[Agent] = []  # changes that wait for the run under way, in the order they were asked for
        self._old: Agent | None = None
        self._left: _Left | None = None
        self._conductor = conductor
        self._breakpoints = breakpoints
        self._drafts = drafts
        self._clock = clock
        self._new_thread_id = new_thread_id
        self._forms: tuple[Agent, list[EditedAgent]] | None = None

    # -- another agent -----------------------------------------------------------------------------------------------

    @property
    def target(self) -> Agent:
        """The agent last chosen, also where it has yet to take effect."""
        return [self._chosen, *self._wanted][-1]

    async def use(self, agent: Agent) -> None:
        """Go on with a changed agent, between turns. Where the thread cannot, that is offered to the person.

        Raises: ConfigError for one that cannot drive this session's threads; StoreUnavailable, and then nothing is changed.
        """
        self._check(agent)
        self._wanted.append(agent)
        self._conductor.board.changed()
        try:
            await self._conductor.between_turns(lambda: self._take(agent))
        finally:
            at = next(at for at, one in enumerate(self._wanted) if one is agent)
            del self._wanted[at]
            self._conductor.board.changed()

    def _check(self, agent: object) -> None:
        if not isinstance(agent, Agent):
            raise ConfigError(field="agent", problems=[f"an Agent is wanted, not {type(agent).__name__}"])
        problems = [f"the session's agent is '{self._given.id}', this one is '{agent.id}'"] if agent.id != self._given.id else []
        if agent.runtime.checkpointer is not self._given.runtime.checkpointer:
            problems.append("it keeps its threads in another store; agent.with_(…) keeps the store")
        if problems:
            raise ConfigError(field="agent", problems=problems)

    async def _take(self, agent: Agent) -> None:
        conductor = self._conductor
        here = self._here()
        if conductor.reader.stored.unfit is None:
            self._old = here.agent
        thread = AgentThread(agent, here.history)
        reader = conductor.reader.by(thread)
        await reader.read()
        self._chosen, self.finishing = agent, None
        conductor.turn_to(thread, conductor.thread_id, reader)

    # -- ways on -----------------------------------------------------------------------------------------------------

    async def go_on(self, way: WayOn) -> None:
        """Raises: ConfigError where that way is not open; StoreUnavailable; RestoreRejected; and then nothing is changed."""
        match way:
            case "old_agent":
                await self._conductor.between_turns(self._finish)
            case "new_thread":
                await self._conductor.between_turns(lambda: self._new_thread(history=True))
            case "empty_thread":
                await self._conductor.between_turns(lambda: self._new_thread(history=False))
            case "back":
                await self._conductor.between_turns(self._back)

    async def _finish(self) -> None:
        conductor = self._conductor
        await conductor.reader.read()  # it may be gone by now, or another one
        unfit = conductor.reader.stored.unfit
        if unfit is None:
            raise _closed("the thread can go on as it is")
        if self._old is None:
            raise _closed("the agent that stored this thread is not in this kernel", next_step=unfit.next_step)
        thread = AgentThread(self._old)
        reader = conductor.reader.by(thread)
        await reader.read()
        if reader.stored.unfit is not None:
            raise reader.stored.unfit
        self.finishing = what_changed(unfit)
        conductor.turn_to(thread, conductor.thread_id, reader)

    async def _new_thread(self, *, history: bool) -> None:
        conductor = self._conductor
        await conductor.reader.read()  # somebody may have answered in another kernel a moment ago
        stored, elsewhere = conductor.reader.stored, conductor.reader.elsewhere
        if stored.status == "new":
            raise _closed("the thread is new: nothing was said on it")
        kept = self._chosen.settled(stored.result) if history else ()
        if faults := conversation_problems(kept):
            raise _closed(*faults, next_step="take an empty thread, or give agent.run(…, history=…) messages that a model may be sent")
        before = conductor.thread_id
        new_id = self._new_thread_id()
        if not isinstance(new_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # somebody's own function
            raise _closed(f"new_thread_id gave {type(new_id).__name__} and no thread's id")
        thread = AgentThread(self._chosen, kept)
        reader = ThreadReader(thread, new_id, self._clock)
        await reader.read()
        if reader.stored.status != "new" or reader.elsewhere:
            raise _closed(f"new_thread_id gave '{new_id}', and there is a thread of that id")
        self._left = _Left(
            thread_id=before,
            finishing=self.finishing,
            old=self._here().agent if stored.unfit is None else self._old,
            holds=self._breakpoints.swap({}),
            drafts=self._drafts.swap({}),
        )
        self.finishing, self._old = None, None
        asked = stored.query if stored.status in ("suspended", "unfinished") or not history else None
        unasked = conductor.unasked
        self.suggested = unasked[1] if unasked is not None and unasked[0] == before else asked
        conductor.turn_to(thread, new_id, reader)
        conductor.board.say(said_of(stored, before, len(kept), elsewhere=elsewhere, holds=bool(self._left.holds)))
        self.told()

    async def _back(self) -> None:
        conductor, left = self._conductor, self._left
        if left is None:
            raise _closed("no thread was left for this one")
        await conductor.reader.read()
        if not conductor.reader.stored.says_nothing:
            raise _closed(f"something was said on this thread; Session(agent, {left.thread_id!r}) drives the one before")
        thread = AgentThread(left.old if left.old is not None and left.finishing is not None else self._chosen)
        reader = ThreadReader(thread, left.thread_id, self._clock)
        await reader.read()
        self._left, self.finishing, self._old, self.suggested = None, left.finishing, left.old, None
        self._breakpoints.swap(left.holds)
        self._drafts.swap(left.drafts)
        conductor.turn_to(thread, left.thread_id, reader)
        self.told()

    @property
    def driven(self) -> Agent:
        """The agent that the thread goes on with: the target, or the old one while it is finished."""
        return self._here().agent

    def _here(self) -> AgentThread:
        thread = self._conductor.thread
        assert isinstance(thread, AgentThread)
        return thread

    # -- what is drawn -----------------------------------------------------------------------------------------------

    def view(self) -> EditorView:
        """The editor and the ways on, for the document."""
        if self._forms is None or self._forms[0] is not self.target:
            self._forms = (self.target, forms(self.target, self._given))
        stored, finishing, left = self._conductor.reader.stored, self.finishing, self._left
        free = not self._conductor.busy and not self._conductor.reader.elsewhere
        open_ways: list[WayOnView] = []
        if free and (finishing is not None or stored.unfit is not None or left is not None):
            kept = len(self.target.settled(stored.result)) if stored.result is not None else 0
            open_ways = ways(
                stored,
                finishing=finishing is not None,
                old_is_here=self._old is not None,
                kept=kept,
                left=None if left is None else left.thread_id,
            )
        return EditorView(
            agents=self._forms[1],
            said=self._said(waits=bool(self._wanted) and not free),
            offer=offer(stored, finishing=finishing, old_is_here=self._old is not None),
            ways=open_ways,
            suggested=self.suggested if stored.status == "new" else None,
        )

    def _said(self, *, waits: bool) -> str:
        if waits:
            return "applies when the run under way has ended"
        said = ["changed"] if self._forms is not None and self._forms[1][0].code is not None else []
        return " · ".join([*said, f"thread before: {self._left.thread_id}"] if self._left is not None else said)


def _closed(*problems: str, next_step: str = "nothing was changed") -> ConfigError:
    return ConfigError(field="session", problems=problems, next_step=next_step)


def led(course: Course | None) -> Course:
    """What leads a session. Raises: ConfigError for one that drives a graph."""
    if course is None:
        raise ConfigError(field="session", problems=["it drives a graph, which has neither prompt nor options"])
    return course

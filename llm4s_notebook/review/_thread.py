"""What a session needs of the thing it drives, and what that thing says about its thread."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..checkpoint import Checkpointer, EventRecord
from ..errors import RestoreRejected, ResumeProblem
from ..graph import Answers, BreakpointPhase, CompiledGraph, GraphRuntime, RunConfig
from ..wire import GraphPicture, MessageView, PendingCard, UsageView
from ..wire import Status as WireStatus

NO_USAGE = UsageView(requests=0, input_tokens=0, output_tokens=0, cost=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A thread as its store holds it, already in the words of the wire.

    `status` is never "running": whether a run is under way is the session's to say. `waiting` describes each pending
    interrupt in one line, by id and in the order of the cards. `unfit` says why what is driven cannot go on with the thread (D14).
    """

    status: WireStatus
    result: Any = None
    query: str | None = None
    answer: str | None = None
    said: str | None = None
    cards: tuple[PendingCard, ...] = ()
    waiting: Mapping[str, str]
    messages: tuple[MessageView, ...] = ()
    usage: UsageView = NO_USAGE
    unfit: RestoreRejected | None = None

    @property
    def settled(self) -> bool:
        """True when the turn has ended and nothing waits."""
        return self.status in ("completed", "blocked", "step_limit")

    @property
    def says_nothing(self) -> bool:
        """True of a thread that is new, and of one whose first turn was given up before anything of it was stored."""
        return self.status == "new" or (self.settled and not self.messages)


NEW = Stored(status="new", waiting={})


class Run(Protocol):
    """An admitted run: awaitable to its result, from any loop."""

    @property
    def run_id(self) -> str: ...
    @property
    def running_nodes(self) -> tuple[str, ...]: ...
    def cancel(self) -> None: ...
    def events(self) -> AsyncIterator[EventRecord]: ...
    def __await__(self) -> Any: ...


class ReviewedThread(Protocol):
    """An agent, or a graph with its runtime, as a session drives it."""

    @property
    def title(self) -> str: ...
    @property
    def is_agent(self) -> bool: ...
    @property
    def runtime(self) -> GraphRuntime: ...
    @property
    def graph(self) -> CompiledGraph[Any, Any]: ...

    async def start(self, query: Any, thread_id: str, config: RunConfig) -> Run:
        """Admit a turn. Raises: the refusals of the layer below, and then nothing has changed."""
        ...

    async def resume(self, thread_id: str, answers: Answers, config: RunConfig) -> Run: ...
    async def recover(self, thread_id: str, config: RunConfig) -> Run: ...
    async def abandon(self, thread_id: str) -> Any: ...

    @property
    def unbegun(self) -> Stored:
        """A thread of which nothing is stored yet."""
        ...

    async def load(self, thread_id: str) -> Stored:
        """The thread as stored; `unbegun` when there is none."""
        ...

    def stored(self, result: Any) -> Stored:
        """The same, from the result a run has just returned."""
        ...

    def picture(self) -> GraphPicture:
        """The diagram without marks: every hold off but the fixed ones, every node idle."""
        ...

    def expand(self, node: str, phase: BreakpointPhase) -> frozenset[str]:
        """The node ids one switch of the diagram stands for. Raises: ConfigError."""
        ...

    def check_edit(self, interrupt_id: str, stored: Stored, arguments: Mapping[str, Any]) -> list[ResumeProblem]:
        """What is wrong with an edit's arguments, by field (D25); empty when they would be taken."""
        ...

    @property
    def checkpointer(self) -> Checkpointer: ...

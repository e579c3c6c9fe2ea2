"""A turn under way, and how a run's end becomes an agent's result or error (D2, D21)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Generator
from typing import Any, TypeAlias

from ..errors import ConfigError, GuardrailBlocked, Llm4sError, NodeFailed, Refused, StateUpdateFailed, ThreadNotFound
from ..graph import Completed, GraphRuntime, RunHandle, RunStatus, Suspended
from ..graph.events import Custom, EventRecord, Progress
from ._listening import Listening
from ._read import Reader, outcome_status
from ._result import AgentResult
from .events import AgentEvent, decode

RunOutcome: TypeAlias = "Completed[Any] | Suspended"


class AgentRun:
    """A turn that was admitted and runs on its own: await it for the result, as often as wanted.

    Cancelling the one who waits leaves the turn alone; `cancel` ends it, and `recover` then continues it.
    """

    def __init__(self, handle: RunHandle, reader: Reader, runtime: GraphRuntime, listening: Listening | None = None) -> None:
        self._handle = handle
        self._reader = reader
        self._runtime = runtime
        self._listening = listening

    @property
    def thread_id(self) -> str:
        return self._handle.thread_id

    @property
    def run_id(self) -> str:
        return self._handle.run_id

    @property
    def status(self) -> RunStatus:
        """Where the run stands."""
        return self._handle.status

    @property
    def running_nodes(self) -> tuple[str, ...]:
        """Ids of the nodes whose calls are under way."""
        return self._handle.running_nodes

    def cancel(self) -> None:
        """Ask the run to stop; returns at once and does nothing once it has ended (R8.3)."""
        self._handle.cancel()

    def events(self) -> AsyncIterator[EventRecord]:
        """Everything the run says, from just before its opening event; ends with the run.

        What is told live and never stored is heard from the beginning by the first who asks, before the result was awaited, and
        by any other from when it asks.
        """
        return self._handle.events() if self._listening is None else self._listening.events(self._handle)

    async def agent_events(self) -> AsyncIterator[AgentEvent]:
        """The agent's own events among them (8.1), durable and live, in their order."""
        async for record in self.events():
            event = record.event
            told = decode(event.name, event.payload) if isinstance(event, Custom | Progress) else None
            if told is not None:
                yield told

    def __await__(self) -> Generator[Any, None, AgentResult]:
        return self._result(self._handle).__await__()

    async def finished(self) -> AgentResult:
        """Wait; when the waiter is cancelled, cancel the run, wait until it is out, and let the cancellation pass (D2)."""
        return await self._result(self._runtime.follow(self._handle))

    async def _result(self, run: Awaitable[RunOutcome]) -> AgentResult:
        thread_id, run_id = self._handle.thread_id, self._handle.run_id
        try:
            ended = await (run if self._listening is None else self._heard(run, self._listening))
        except GuardrailBlocked:
            return await self._blocked()
        except NodeFailed as failed:
            refused = refusal_in(failed)
            if refused is failed:
                raise
            if isinstance(refused, Refused | GuardrailBlocked | ConfigError):  # made without knowing that it would end a step
                refused.placed(failed.where, failed.next_step)
            raise refused from None
        match ended:
            case Suspended():
                return self._reader.suspended(thread_id, run_id, ended.interrupts, ended.state)
            case Completed():
                return self._reader.result(thread_id, run_id, outcome_status(ended.output, ended.state), ended.state)

    async def _heard(self, run: Awaitable[RunOutcome], listening: Listening) -> RunOutcome:
        try:
            return await run
        finally:
            if self._handle.done:  # else only the one who waited was cancelled
                listening.over()

    async def _blocked(self) -> AgentResult:
        """The thread as the block left it: the newest checkpoint that this run wrote."""
        newest = await self._runtime.checkpointer.latest(self.thread_id)
        if newest is not None and newest.checkpoint.run_id == self.run_id:
            return self._reader.stored(newest.checkpoint)
        for checkpoint in await self._runtime.history(self.thread_id, limit=50):
            if checkpoint.run_id == self.run_id:
                return self._reader.stored(checkpoint)
        raise ThreadNotFound(thread_id=self.thread_id)  # forgotten, or pruned, since


def refusal_in(failed: NodeFailed) -> Llm4sError:
    """What the caller is to see of a failed step: a hook's own refusal as the very object it raised (D21), else the failure."""
    if type(failed) is NodeFailed and isinstance(failed.cause, Llm4sError) and not isinstance(failed.cause, StateUpdateFailed):
        return failed.cause
    return failed

"""The conductor: durable runs of graphs on threads. It joins admission, the run, its commits, its claim and its handle."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from ..checkpoint import (
    Checkpoint,
    Checkpointer,
    CheckpointStatus,
    Clock,
    EventRecord,
    InMemoryCheckpointer,
    SystemClock,
)
from ..errors import ConfigError, Llm4sError, RunCancelled, RunCrashed
from . import _ids
from ._admission import Admission
from ._admitted import Admitted
from ._answer import Answers
from ._command import Command
from ._commit import Ledger
from ._compiled import CompiledGraph
from ._config import ClaimPolicy, RunConfig
from ._context import RunContext, RunVoice
from ._control import RunControl
from ._handle import Outcome, RunHandle
from ._history import History
from ._lease import Lease, LeaseKeeper
from ._left_claims import LeftClaims
from ._outcome import Completed, Suspended
from ._places import Place, Places
from ._refs import NodeRef
from ._run import Run
from ._standing import Held, Standing
from ._subscribe import Hub, Subscription
from .events import Progress

AnyGraph = CompiledGraph[Any, Any]
_DEFAULT_CLAIMS = ClaimPolicy()
_DEFAULT_CONFIG = RunConfig()
_HELD_THREADS = 1024


class GraphRuntime:
    """Runs graphs on the threads of one store.

    Usable from several event loops and OS threads; a run lives on the loop that started it (D23).
    `start`, `resume` and `recover` either refuse, and then nothing has changed, or give the handle of an admitted run.
    """

    def __init__(
        self,
        checkpointer: Checkpointer,
        *,
        claims: ClaimPolicy = _DEFAULT_CLAIMS,
        clock: Clock | None = None,
        new_id: Callable[[], str] = _ids.new_run_id,
    ) -> None:
        """`claims` in seconds; `clock` stamps checkpoints and events; `new_id` makes run ids."""
        self.checkpointer = checkpointer
        self._clock: Clock = clock or SystemClock()
        self._hub = Hub()
        self._leases = LeaseKeeper(checkpointer, claims)
        self._lock = threading.Lock()
        self._places = Places()
        self._held: OrderedDict[str, Held] = OrderedDict()
        self._left = LeftClaims(checkpointer, self._leases)
        self._standing = Standing(checkpointer, self._held.get)
        self._admission = Admission(checkpointer, claims, self._clock, new_id, self._standing, self._hub.publish, self._left.give_back)
        # a store that shares transactions between runs that begin together is told of one before its claim is there
        self._expecting: Callable[[str], object] | None = getattr(checkpointer, "expecting", None)
        self._history = History(checkpointer, claims, self._clock, new_id, self._hub.publish, self._left.give_back)

    @classmethod
    def in_memory(cls) -> GraphRuntime:
        """A runtime whose threads are gone with the process."""
        return cls(InMemoryCheckpointer())

    # -- runs --------------------------------------------------------------------------------------------------------

    async def start(self, thread_id: str, graph: AnyGraph, input: Any, config: RunConfig = _DEFAULT_CONFIG) -> RunHandle:
        """Begin a turn: a new thread, or over the state of a finished one (R4.21).

        Raises: ThreadBusy; ConfigError; EncodeError; IncompleteRun; PendingInterrupts; RestoreRejected; CheckpointWriteFailed (R4.20).
        """
        return await self._admit(thread_id, lambda: self._admission.start(thread_id, graph, input, config))

    async def resume(self, thread_id: str, graph: AnyGraph, answers: Answers, config: RunConfig = _DEFAULT_CONFIG) -> RunHandle:
        """Answer any non-empty part of what a thread waits for; the rest stays pending (R4.8).

        Raises: ThreadBusy; ConfigError; NotSuspended; RestoreRejected; InvalidResume; CheckpointWriteFailed (R4.20).
        """
        return await self._admit(thread_id, lambda: self._admission.resume(thread_id, graph, answers, config))

    async def recover(self, thread_id: str, graph: AnyGraph, config: RunConfig = _DEFAULT_CONFIG) -> RunHandle:
        """Continue an unfinished run; finished tasks are not run again (R8.10).

        Raises: ThreadBusy; ConfigError; NothingToRecover; PendingInterrupts; RestoreRejected; CheckpointWriteFailed (R4.20).
        """
        return await self._admit(thread_id, lambda: self._admission.recover(thread_id, graph, config))

    async def run(self, thread_id: str, graph: AnyGraph, input: Any, config: RunConfig = _DEFAULT_CONFIG) -> Completed[Any] | Suspended:
        """`start` and await the outcome. Cancelled, it cancels the run, waits for it and raises `CancelledError` (D2)."""
        handle = await self.start(thread_id, graph, input, config)
        return await self.follow(handle)

    async def follow(self, handle: RunHandle) -> Outcome:
        """Await a run as its owner: when this is cancelled, so is the run, and `CancelledError` is raised once it is over (D2)."""
        try:
            return await handle
        except asyncio.CancelledError:
            if not handle.done:
                handle.cancel()
                await _insist(handle.ended())
            raise

    # -- threads -----------------------------------------------------------------------------------------------------

    async def pending(self, thread_id: str, graph: AnyGraph) -> Suspended | None:
        """What the thread waits for, or None when it does not wait. Raises: RestoreRejected."""
        found = await self._standing.load(thread_id, graph)
        return Suspended(found.execution) if found is not None and found.status is CheckpointStatus.SUSPENDED else None

    async def history(self, thread_id: str, *, before: str | None = None, limit: int = 50) -> list[Checkpoint]:
        """The thread's checkpoints, newest first; `graph.restore` makes each one readable (R6.31).

        Raises: ConfigError; CheckpointNotFound.
        """
        if type(limit) is not int or limit < 1:
            raise ConfigError(field="limit", problems=[f"limit is {limit!r}, and must be 1 or more"])
        return await self.checkpointer.history(thread_id, before, limit)

    async def fork(self, source: str, checkpoint_id: str, target: str) -> None:
        """Make a new thread of a checkpoint; the source is only read (R6.32).

        Raises: ThreadBusy; ConfigError for a fork onto itself; CheckpointNotFound; RestoreRejected for a damaged one; ThreadExists.
        """
        await self._alone(target, lambda: self._history.fork(source, checkpoint_id, target))

    async def update_state(
        self, thread_id: str, graph: AnyGraph, expected: str, update: Command, *, as_node: NodeRef[Any] | None = None
    ) -> str:
        """Edit the committed state of the latest checkpoint if its id is `expected`; the new checkpoint's id (R6.33).

        Raises: ThreadBusy; ConfigError; UndeclaredWrite or UnknownStateKey; ThreadNotFound; CheckpointConflict; RestoreRejected;
        StateUpdateFailed.
        """
        return await self._alone(thread_id, lambda: self._history.update_state(thread_id, graph, expected, update, as_node))

    async def seed(self, thread_id: str, graph: AnyGraph, update: Command) -> str:
        """Make a finished thread of given state; the new checkpoint's id (R6.34).

        Raises: ThreadBusy; ConfigError; UnknownStateKey; ThreadExists; StateUpdateFailed.
        """
        return await self._alone(thread_id, lambda: self._history.seed(thread_id, graph, update))

    async def abandon(self, thread_id: str, graph: AnyGraph, update: Command = Command()) -> str:  # noqa: B008 - immutable
        """Give a waiting or unfinished turn up: it leaves the history and the thread is usable; the new checkpoint's id (R6.36).

        State committed so far stays, with `update` applied to it.
        Raises: ThreadBusy; ConfigError; UnknownStateKey; ThreadNotFound; NothingToRecover; RestoreRejected; StateUpdateFailed.
        """
        return await self._alone(thread_id, lambda: self._history.abandon(thread_id, graph, update))

    async def delete_thread(self, thread_id: str) -> None:
        """Remove everything of the thread; an unknown one is fine (R6.35). Raises: ThreadBusy while it is live."""
        await self._alone(thread_id, lambda: self._history.delete_thread(thread_id))

    def subscribe(self, thread_id: str, *, after: int = 0, capacity: int = 1024) -> AsyncIterator[EventRecord]:
        """The thread's events numbered above `after`, then new ones as they are committed; live progress beside them (R7.7).

        Raises: ConfigError. The iterator raises ReplayUnavailable when events were compacted away, and SubscriptionLagged.
        """
        return Subscription(self._hub, self.checkpointer, thread_id, after=after, capacity=capacity)

    def live(self, thread_id: str) -> RunHandle | None:
        """The handle of the run that this runtime has on the thread, if any."""
        return self._places.handle(thread_id)

    async def aclose(self) -> None:
        """Cancel and wait for this runtime's runs, end its subscriptions and its renewals. The store stays open: it is its maker's."""
        handles = self._places.handles()
        for handle in handles:
            handle.cancel()
        for handle in handles:
            await handle.ended()
        self._leases.close()
        self._hub.close()

    # -- inner -------------------------------------------------------------------------------------------------------

    async def _admit(self, thread_id: str, admission: Callable[[], Coroutine[Any, Any, Admitted]]) -> RunHandle:
        """Admit a run in a task of its own, which then drives it: a caller that is cancelled leaves nothing half done."""
        place, left = self._places.take(thread_id)
        if self._expecting is not None:
            place.coming = self._expecting(thread_id)
        loop = place.loop
        admitted: asyncio.Future[RunHandle] = loop.create_future()
        conduct = self._conduct(thread_id, place, left, admission, admitted)
        place.task = task = loop.create_task(conduct, name=f"run of thread {thread_id}")
        try:
            return await admitted
        except asyncio.CancelledError:
            if not admitted.cancelled() and admitted.exception() is None:
                admitted.result().cancel()
            await _insist(asyncio.wait([task]))  # admitted later, the run finds that nobody waits for it, and is cancelled
            raise

    async def _conduct(
        self,
        thread_id: str,
        place: Place,
        left: Lease | None,
        admission: Callable[[], Coroutine[Any, Any, Admitted]],
        admitted: asyncio.Future[RunHandle],
    ) -> None:
        try:
            if left is not None or thread_id in self._left.tokens:
                await self._left.clear(thread_id, left)
            ready = await admission()
        except BaseException as error:
            place.coming = None
            self._places.free(thread_id, place)
            if not isinstance(error, Exception):
                admitted.cancel()
                raise
            if not admitted.done():  # else whoever asked for it was cancelled
                admitted.set_exception(error if isinstance(error, Llm4sError) else RunCrashed(cause=error))  # R4.22
            return
        place.coming = None
        await self._drive(ready, place, admitted)

    async def _drive(self, ready: Admitted, place: Place, admitted: asyncio.Future[RunHandle]) -> None:
        thread_id, run_id = ready.drafts.thread_id, ready.drafts.run_id
        loop = place.loop
        control = RunControl(loop)
        handle = place.handle = RunHandle(thread_id, run_id, control, self._events_of, ready.opening)
        # Given the loop and not the place, which holds the lease: what a run leaves is freed at once, and not by the collector.
        lease = place.lease = self._leases.keep(thread_id, ready.token, lambda: not loop.is_closed())
        with self._lock:
            self._held.pop(thread_id, None)
        ledger = Ledger(self.checkpointer, self._hub, thread_id, ready.token, ready.checkpoint_id, ready.config.durability)
        followed = functools.partial(self._hub.heard, thread_id)
        voice = RunVoice(ready.config, thread_id, run_id, ready.birth_id, control.stopping, self._progress, followed, control.active)
        run = Run(ready, ledger, control, voice, lease)
        if admitted.done():  # whoever asked for it was cancelled
            handle.cancel()
        else:
            admitted.set_result(handle)
        outcome: Outcome | None = None
        failure: BaseException | None = None
        try:
            outcome = await run.outcome()
        except BaseException as error:
            failure = error
        self._leases.drop(lease)
        if not ledger.freed:
            self._left.tokens[thread_id] = ready.token
        if outcome is not None:
            self._keep(ready, run, outcome, ledger.durable)
        self._places.free(thread_id, place)
        interrupted = isinstance(failure, (KeyboardInterrupt, SystemExit))  # raised through the loop; the run was cancelled by it
        handle.settle(outcome, RunCancelled(checkpoint_id=ledger.latest).of_run(thread_id, run_id) if interrupted else failure)
        self._hub.wake(thread_id)
        if failure is not None and not isinstance(failure, Exception):
            raise failure

    def _keep(self, ready: Admitted, run: Run, outcome: Outcome, checkpoint_id: str) -> None:
        """Hold the thread as it was left, for the next call with this very graph (D17)."""
        completed = isinstance(outcome, Completed)
        status = CheckpointStatus.COMPLETED if completed else CheckpointStatus.SUSPENDED
        settled = checkpoint_id if completed else ready.settled
        held = Held(ready.graph, checkpoint_id, status, run.execution, ready.birth_id, settled, ready.token)
        with self._lock:
            self._held[ready.drafts.thread_id] = held
            while len(self._held) > _HELD_THREADS:
                self._held.popitem(last=False)

    async def _alone(self, thread_id: str, change: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Make a change to a thread outside runs, in a task of its own: a caller that is cancelled waits for it, and leaves no claim.

        Raises: ThreadBusy, and what the change raises.
        """
        place, left = self._places.take(thread_id)
        place.task = task = place.loop.create_task(self._changed(thread_id, place, left, change), name=f"change of thread {thread_id}")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await _insist(asyncio.wait([task]))
            if not task.cancelled():
                task.exception()  # of no interest to who was cancelled
            raise

    async def _changed(self, thread_id: str, place: Place, left: Lease | None, change: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        try:
            await self._left.clear(thread_id, left)
            return await change()
        finally:
            self._places.free(thread_id, place)

    def _progress(self, context: RunContext, name: str, version: int, payload: Any) -> None:
        """Live progress of a task to whoever follows its thread here (R7.10)."""
        if self._hub.heard(context.thread_id):
            event = Progress(name, version, payload)
            record = EventRecord(
                context.thread_id, None, context.run_id, context.checkpoint_id, context.task_id, context.node_id, self._clock.now(), event
            )
            self._hub.publish(context.thread_id, (record,))

    def _events_of(self, handle: RunHandle, after: int) -> AsyncIterator[EventRecord]:
        return Subscription(self._hub, self.checkpointer, handle.thread_id, after=after, run_id=handle.run_id, over=lambda: handle.done)


def hub_of(runtime: GraphRuntime) -> Hub:
    """Where the room above follows a thread live; a subscription reads the store first, and so gives what is live out of order."""
    return runtime._hub  # pyright: ignore[reportPrivateUsage]  # its own file; no public attribute, since a hub is nobody's outside the package


async def _insist(waiting: Coroutine[Any, Any, Any]) -> None:
    """Wait to the end of it, however often the caller is cancelled; the caller raises its own cancellation."""
    task = asyncio.ensure_future(waiting)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                return

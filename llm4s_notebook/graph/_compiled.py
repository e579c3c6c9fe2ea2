"""A compiled graph: immutable, usable by many threads and runs at once (R2.7), and steppable in memory (R3.29)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..checkpoint import Checkpoint
from ..errors import ForeignExecution, RunCancelled
from . import _ids
from ._breakpoint import check_breakpoints
from ._config import RunConfig
from ._context import RunVoice
from ._execution import Execution, Task
from ._frontier import advance, answered, check_joins, is_quiet
from ._interrupt import continuations, given_answers
from ._key import StateKey
from ._outcome import Completed, Ending, Suspended
from ._restore import Restored, restore
from ._snapshot import snapshot_of, stored_of_checkpoint, stored_of_snapshot
from ._state import Slots, ThreadState
from ._superstep import Superstep
from ._topology import GraphTopology

if TYPE_CHECKING:
    from ._answer import Answers
    from ._plan import Plan

In = TypeVar("In")
Out = TypeVar("Out")
_DEFAULT = RunConfig()
_NO_SLOTS: Slots = {}


class CompiledGraph(Generic[In, Out]):
    """What `GraphBuilder.compile` makes. An execution belongs to the graph object that made it (R1.32)."""

    def __init__(self, plan: Plan, output: Callable[[ThreadState], Out]) -> None:
        self.plan = plan
        self._output = output

    @property
    def id(self) -> str:
        return self.plan.id

    @property
    def version(self) -> str:
        """The author's name for the graph's behaviour (R1.36)."""
        return self.plan.version

    @property
    def fingerprint(self) -> str:
        """SHA-256 hex over the graph's shape (R1.36)."""
        return self.plan.fingerprint

    @property
    def keys(self) -> tuple[StateKey[Any, Any], ...]:
        return tuple(self.plan.keys.values())

    def __repr__(self) -> str:
        return f"CompiledGraph({self.id!r}, version={self.version!r})"

    def topology(self) -> GraphTopology:
        """What a diagram draws."""
        return GraphTopology.of(self.plan)

    def project(self, state: ThreadState) -> Out:
        """The output of a run that completed with this state (R2.5). Raises: whatever the projection raises (R3.16)."""
        return self._output(state)

    # -- snapshots ---------------------------------------------------------------------------------------------------

    def snapshot(self, execution: Execution) -> dict[str, Any]:
        """The execution as plain JSON (R1.35). Raises: ForeignExecution."""
        self._own(execution)
        return snapshot_of(execution)

    def restore(self, snapshot: Mapping[str, Any] | Checkpoint) -> Execution:
        """Take a snapshot or a checkpoint up again with this graph's functions (R1.39).

        Raises: UnsupportedCheckpointFormat; RestoreRejected listing every problem (R6.39).
        """
        return self.restored(snapshot).execution

    def restored(self, snapshot: Mapping[str, Any] | Checkpoint) -> Restored:
        """`restore`, with what a store has to rewrite for schema versions that went up."""
        stored = stored_of_checkpoint(snapshot) if isinstance(snapshot, Checkpoint) else stored_of_snapshot(self.plan, snapshot)
        return restore(self.plan, stored)

    # -- stepping in memory ------------------------------------------------------------------------------------------

    def start(self, input: In) -> Execution:
        """A fresh execution at the entry node. Raises: EncodeError."""
        return self.begin(self.plan.nodes[self.plan.entry].codec.encode(input), 0, _NO_SLOTS)

    def begin(self, data: bytes, superstep: int, slots: Slots) -> Execution:
        """A fresh execution at the entry node over given state, the superstep number continued (R4.21)."""
        entry = Task(_ids.task_id(superstep, 0), self.plan.entry, data)
        return Execution(self.plan, superstep, slots, (entry,), {}, {}, {})

    def resume(self, execution: Execution, answers: Answers) -> Execution:
        """The execution with these answers taken. Raises: ForeignExecution; ConfigError; InvalidResume with every problem (R4.9)."""
        self._own(execution)
        given = given_answers(answers)
        tasks = continuations(execution, given)
        return answered(execution, tasks)[0]

    async def step(self, execution: Execution, config: RunConfig = _DEFAULT) -> Execution | Completed[Out] | Suspended:
        """Run one superstep: the next execution, or the run's result. Enforces no superstep limit (R3.29).

        A paused execution is `Suspended` again. When the caller is cancelled, so are the tasks; they are waited for, and nothing
        of the superstep is kept (R8.7, D2).

        Raises: ForeignExecution; ConfigError for an unknown breakpoint node; what ended the run.
        """
        self._own(execution)
        check_breakpoints(self.plan, config)
        if execution.paused:
            return Suspended(execution)
        if not execution.frontier:
            return self.conclude(execution)
        caller = asyncio.current_task()
        cancels = caller.cancelling() if caller else 0
        results = await Superstep(execution, RunVoice(config), "", caller).run()
        if caller and caller.cancelling() > cancels:
            raise asyncio.CancelledError
        failure: BaseException | None = None
        for result in results:
            if result.ending is Ending.CANCELLED:
                raise RunCancelled
            if result.ending is Ending.FAILED and failure is None:
                failure = result.error
        if failure is not None:
            raise failure
        following = advance(execution, results, config, record=False)
        if following.blocked is not None:
            raise following.blocked
        if following.execution.paused:
            return Suspended(following.execution)
        return self.conclude(following.execution) if is_quiet(following.execution) else following.execution

    def conclude(self, execution: Execution) -> Completed[Out] | Suspended:
        """What a run with nothing left to run ended as (R3.14). Raises: UnsatisfiedJoin; whatever the projection raises."""
        check_joins(execution)
        if execution.parked:
            return Suspended(execution)
        state = execution.state
        return Completed(self.project(execution.state), state, execution.superstep)

    def _own(self, execution: Execution) -> None:
        if execution.plan is not self.plan:
            raise ForeignExecution(graph_id=self.id)

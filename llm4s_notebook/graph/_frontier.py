"""Results of a superstep -> the next execution: updates, next tasks, joins, what is parked, when a run is quiet (R3.4-R3.17). Pure.

Whatever order tasks finish in, results come here in frontier order, and everything below depends on that order alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..checkpoint import Append, PatchOp, Set, Unset, Value
from ..errors import UnsatisfiedJoin
from . import _ids
from ._breakpoint import held_after, park_after, park_before
from ._codec import NULL
from ._config import RunConfig
from ._execution import Activation, BoundFanOut, Execution, JoinSlot, Origin, Parked, Task
from ._outcome import COMPLETED, HELD, SUSPENDED, TaskResult
from ._plan import Plan
from ._record import activation_record, arrival_record, parked_record, task_record
from ._state import Applied, apply_writes


class Routed(Value, frozen=True):
    """What a completed task set in motion at one node: the tasks made, and the dynamic join that counts them."""

    node: str
    tasks: tuple[str, ...]
    join: str | None = None


class Advance(Value, frozen=True, gc=True):
    """The execution after a superstep and the patch that brings a store there.

    `blocked` is a Block's error (R3.22); `routed` says what each completed task set in motion, for the journal.
    """

    execution: Execution
    patch: tuple[PatchOp, ...]
    applied: Applied
    routed: Mapping[str, list[Routed]]
    blocked: BaseException | None = None


def advance(execution: Execution, results: Sequence[TaskResult], config: RunConfig, *, record: bool = True) -> Advance:
    """Commit a superstep whose tasks all ended without failing (R3.4, R3.7). Without `record` no patch is made.

    Raises: StateUpdateFailed, and then nothing has changed.
    """
    plan = execution.plan
    writes = results[0].writes if len(results) == 1 else tuple([write for result in results for write in result.writes])
    applied = apply_writes(plan.keys, execution.slots, writes)
    completed: list[TaskResult] = []
    newly_parked: list[Parked] = []
    blocked: BaseException | None = None
    for result in results:
        ending = result.ending
        if ending is COMPLETED:
            if config.interrupt_after and held_after(result, config):
                newly_parked.append(park_after(result))
            else:
                completed.append(result)
        elif ending is HELD:
            newly_parked.append(park_before(result.task))
        elif ending is SUSPENDED:
            task = result.task
            id = task.id
            newly_parked.append(Parked(id, result.resume_at, result.question, task.origin or Origin(id, task.node), task.slot))
        elif blocked is None:
            blocked = result.error
    superstep = execution.superstep + 1
    if blocked is not None:
        return Advance(Execution(plan, superstep, applied.slots, (), {}, {}, {}), (), applied, {}, blocked)
    schedule = _Schedule(plan, execution, superstep)
    schedule.follow(completed)
    schedule.release()
    parked = execution.parked
    if newly_parked:
        parked = {**parked, **{one.id: one for one in newly_parked}}
    following = Execution(
        plan, superstep, applied.slots, tuple(schedule.tasks), schedule.arrivals, schedule.activations, parked, bool(newly_parked)
    )
    if not record:
        return Advance(following, (), applied, schedule.routed)
    patch = applied.patch
    for task in execution.frontier:
        patch.append(Unset("task", task.id))
    patch += schedule.patch
    for task in schedule.tasks:
        patch.append(Set("task", task.id, task_record(plan, task)))
    for one in newly_parked:
        patch.append(Set("parked", one.id, parked_record(plan, one)))
    return Advance(following, tuple(patch), applied, schedule.routed)


_NOBODY: frozenset[str] = frozenset()


class _Schedule:
    """Hands out the ordinals of the next frontier in two passes (R3.7) and keeps the joins."""

    def __init__(self, plan: Plan, execution: Execution, superstep: int) -> None:
        self.plan = plan
        self.superstep = superstep
        self.tasks: list[Task] = []
        self.patch: list[PatchOp] = []
        self.arrivals: Mapping[str, frozenset[str]] = execution.arrivals
        self.activations: Mapping[str, Activation] = execution.activations
        self._opened: dict[str, Activation] = {}
        self._arrived: dict[str, list[str]] = {}
        self.routed: dict[str, list[Routed]] = {}

    def follow(self, completed: Iterable[TaskResult]) -> None:
        """Pass 1: static edges as declared, then routes as returned, task by task; and each task's arrivals (R3.10-R3.13)."""
        nodes = self.plan.nodes
        for result in completed:
            task = result.task
            spec = nodes[task.node]
            if spec.edges or result.routes:
                made: list[Routed] = []
                for target in spec.edges:
                    made.append(Routed(target, (self._schedule(target, NULL),)))
                for route in result.routes:
                    if type(route) is BoundFanOut:
                        made.append(Routed(route.node, self._fan_out(task, route), route.join))
                    else:
                        made.append(Routed(route.node, (self._schedule(route.node, route.payload),)))
                self.routed[task.id] = made
            origin = task.origin
            node_id = task.node
            if origin is not None:
                node_id = origin.node_id
                spec = nodes[node_id]
            for join_id in spec.sources_of:
                here = self.arrivals.get(join_id, _NOBODY)
                if node_id not in here:
                    self.arrivals = {**self.arrivals, join_id: here | {node_id}}
            slot = task.slot
            if slot is not None:
                key = _ids.activation_id(slot.fan_out_task, slot.join_id)
                self._arrived.setdefault(key, []).append(origin.task_id if origin is not None else task.id)

    def release(self) -> None:
        """Pass 2: targets of static joins as declared, then of dynamic activations, oldest first."""
        if self.arrivals:
            for join in self.plan.static_joins.values():
                here = self.arrivals.get(join.id)
                if here is not None and len(here) == len(join.sources):
                    self.arrivals = {id: arrived for id, arrived in self.arrivals.items() if id != join.id}
                    self._schedule(join.target, NULL)
        if self._opened or self._arrived:
            self._settle_activations()

    def _settle_activations(self) -> None:
        """Count the children that arrived, release what is complete, and note what changed in the store."""
        activations = {**self.activations, **self._opened}
        for key, children in self._arrived.items():
            one = activations.get(key)
            if one is None:
                continue
            new = [child for child in children if child not in one.arrived]
            arrived = one.arrived.union(new)
            activations[key] = Activation(one.join_id, one.fan_out_task, one.expected, arrived)
            if len(arrived) < len(one.expected):
                self.patch.append(Append("arrivals", key, (*map(arrival_record, new),)))
        for key in [key for key, one in activations.items() if len(one.arrived) == len(one.expected)]:
            one = activations.pop(key)
            self._schedule(self.plan.dynamic_joins[one.join_id].target, NULL)
            if key not in self._opened:
                self.patch.append(Unset("activation", key))
                if one.arrived:
                    self.patch.append(Unset("arrivals", key))
        self.patch += [Set("activation", key, activation_record(activations[key])) for key in self._opened if key in activations]
        self.activations = activations

    def _schedule(self, node: str, payload: bytes) -> str:
        id = _ids.task_id(self.superstep, len(self.tasks))
        self.tasks.append(Task(id, node, payload))
        return id

    def _fan_out(self, task: Task, route: BoundFanOut) -> tuple[str, ...]:
        slot = JoinSlot(route.join, task.id)
        made = [
            Task(_ids.task_id(self.superstep, ordinal), route.node, payload, slot)
            for ordinal, payload in enumerate(route.payloads, len(self.tasks))
        ]
        self.tasks += made
        children = tuple([child.id for child in made])
        self._opened[_ids.activation_id(task.id, route.join)] = Activation(route.join, task.id, children)
        return children


def is_quiet(execution: Execution) -> bool:
    """True when nothing is left to run (R3.14)."""
    return not execution.frontier and not execution.paused


def check_joins(execution: Execution) -> None:
    """Raises: UnsatisfiedJoin for the first open join that waits for an arrival nothing parked can make (R3.14).

    Static joins come first, in declaration order. A parked continuation can make its origin's arrival (R3.13), and that of
    every node its own node leads to along edges and declared routes.
    """
    plan = execution.plan
    origins: set[str] | None = None
    reachable: set[str] | None = None
    for join in plan.static_joins.values():
        here = execution.arrivals.get(join.id)
        if here is None:
            continue
        if origins is None:
            origins = {parked.origin.node_id for parked in execution.parked.values()}
        missing = [source for source in join.sources if source not in here and source not in origins]
        if missing and execution.parked:
            reachable = _reachable(plan, {parked.node for parked in execution.parked.values()}) if reachable is None else reachable
            missing = [source for source in missing if source not in reachable]
        if missing:
            raise UnsatisfiedJoin(join_id=join.id, missing=missing)
    for one in execution.activations.values():
        if len(one.expected) - len(one.arrived) <= len(execution.parked):  # a child that has not arrived is parked
            continue
        parked_tasks = {parked.origin.task_id for parked in execution.parked.values()}
        raise UnsatisfiedJoin(
            join_id=one.join_id, missing=[child for child in one.expected if child not in one.arrived and child not in parked_tasks]
        )


def _reachable(plan: Plan, starts: set[str]) -> set[str]:
    """Every node that these nodes can lead to, as far as the graph says."""
    after: dict[str, set[str]] = {id: {*spec.edges, *spec.routes} for id, spec in plan.nodes.items()}
    for join in plan.static_joins.values():
        for source in join.sources:
            after[source].add(join.target)
    for dynamic in plan.dynamic_joins.values():
        for spec in plan.nodes.values():
            if dynamic.id in spec.routes:
                after[spec.id].add(dynamic.target)
    found: set[str] = set()
    waiting = [target for start in starts for target in after.get(start, ())]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(after.get(node, ()))
    return found


def answered(execution: Execution, continuations: Sequence[tuple[str, Task]]) -> tuple[Execution, tuple[PatchOp, ...]]:
    """The execution with these parked interrupts replaced by tasks at the frontier's end, no longer paused (R4.11, R4.13)."""
    plan = execution.plan
    parked = execution.parked.copy()  # a quarter of the time of `dict(…)` once some were answered
    tasks: list[Task] = []
    patch: list[PatchOp] = []
    for id, task in continuations:
        del parked[id]
        tasks.append(task)
        patch.append(Unset("parked", id))
    for task in tasks:
        patch.append(Set("task", task.id, task_record(plan, task)))
    following = Execution(
        plan, execution.superstep, execution.slots, (*execution.frontier, *tasks), execution.arrivals, execution.activations, parked
    )
    return following, tuple(patch)

"""Taking a stored execution up again: every problem is found and all are reported together (R6.39, R5.41, D14)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..checkpoint import Append, PatchOp, Set, Unset
from ..errors import DecodeError, EncodeError, RestoreRejected
from ._check import route_problems
from ._codec import NULL, Codec, encode_json
from ._config import BreakpointPhase
from ._execution import Activation, BoundFanOut, BoundRoute, BoundSend, Execution, JoinSlot, Origin, Parked, Task
from ._plan import Plan
from ._record import read_routes
from ._snapshot import Stored
from ._state import SECTION, Slot, entry_of, slot_of

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Restored:
    """The execution, and what has to be rewritten in the store because it was read under an older schema version or other parts."""

    execution: Execution
    rewrite: tuple[PatchOp, ...]


def restore(plan: Plan, stored: Stored) -> Restored:
    """Check everything and make the execution. Raises: RestoreRejected with all problems."""
    return _Restoring(plan, stored).restored()


_CHANGED = "give the graph the version it was stored with if its behaviour may go on with this thread, or start a new thread"
_DAMAGED = "restore the store from a copy, or start a new thread"


class _Restoring:
    def __init__(self, plan: Plan, stored: Stored) -> None:
        self.plan = plan
        self.stored = stored
        self.problems: list[str] = list(stored.problems)
        self.rewrite: list[PatchOp] = []

    def restored(self) -> Restored:
        self._identity()
        slots = self._state()
        tasks = self._tasks()
        parked = self._parked()
        arrivals = self._arrivals()
        activations = self._activations()
        self._slots_match(tasks, parked, activations)
        if self.problems:
            changed = self._changed_parts()
            damaged = bool(self.stored.problems)
            next_step = _DAMAGED if damaged else _CHANGED if changed else None
            raise RestoreRejected(graph_id=self.plan.id, problems=[*self.problems, *changed], next_step=next_step, damaged=damaged)
        self._meta()
        execution = Execution(
            self.plan,
            cast(int, self.stored.superstep),
            slots,
            tuple(tasks),
            arrivals,
            activations,
            {one.id: one for one in parked},
            self.stored.paused is True,
        )
        return Restored(execution, tuple(self.rewrite))

    def _identity(self) -> None:
        plan, stored = self.plan, self.stored
        same = True
        for name, found, wanted in (
            ("id", stored.graph_id, plan.id),
            ("version", stored.graph_version, plan.version),
            ("fingerprint", stored.fingerprint, plan.fingerprint),
        ):
            if found != wanted and (same or name != "fingerprint"):  # another id or version makes another fingerprint
                same = False
                self.problems.append(f"it was stored by graph {name} '{found}', this graph has '{wanted}'")
        superstep = stored.superstep
        if not isinstance(superstep, int) or isinstance(superstep, bool) or superstep < 0:
            self.problems.append(f"superstep {superstep!r} is no number from 0 up")
        if not isinstance(stored.paused, bool):
            self.problems.append(f"paused is {stored.paused!r}, neither true nor false")

    def _changed_parts(self) -> list[str]:
        """Which parts of the graph's version changed (D14)."""
        before = self.stored.parts
        if not before:
            return []
        now = self.plan.parts
        changed = [f"changed: {name}" for name, digest in now.items() if name in before and before[name] != digest]
        added = [f"added: {name}" for name in now if name not in before]
        removed = [f"removed: {name}" for name in before if name not in now]
        return changed + added + removed

    def _meta(self) -> None:
        if self.rewrite:
            versions = self.plan.key_versions
            self.rewrite.append(Unset("meta", "keys") if versions == b"{}" else Set("meta", "keys", versions))
        if dict(self.stored.parts or {}) != dict(self.plan.parts):
            self.rewrite.append(Set("meta", "parts", self.plan.parts_text))

    def _state(self) -> dict[str, Slot]:
        slots: dict[str, Slot] = {}
        for id, data, version in self.stored.state:
            key = self.plan.keys.get(id)
            if key is None:
                self.problems.append(f"state key '{id}' is unknown")
                continue
            try:
                same = version == key.version and not isinstance(version, bool)
                if not same:
                    whole = b"[" + b",".join(data) + b"]" if isinstance(data, list) else data
                    data = key.codec.upgrade(whole, version)
                if key.item is not None and isinstance(data, bytes):  # from a snapshot, or migrated: one text
                    value = key.codec.decode(data)
                    data = [key.item.encode(item) for item in value]
                elif key.item is None and isinstance(data, list):
                    raise DecodeError(problems=["it was stored as a list"])
                slot = slots[id] = slot_of(key, data)
                if not same:
                    entry = entry_of(key, slot)
                    self.rewrite.append(Unset(SECTION, id))
                    self.rewrite.append(Append(SECTION, id, tuple(entry)) if isinstance(entry, list) else Set(SECTION, id, entry))
            except (DecodeError, EncodeError) as error:
                self.problems.append(f"state key '{id}' does not decode: {'; '.join(error.problems)}")
        return slots

    def _tasks(self) -> list[Task]:
        tasks: list[Task] = []
        seen: set[str] = set()
        for id, record in self.stored.tasks:
            found = len(self.problems)
            where = f"pending task {id}"
            node = self._record(where, id, record, seen)
            if node is None:
                continue
            spec = self.plan.nodes.get(node)
            data = NULL
            if spec is None:
                self.problems.append(f"{where}: node '{node}' is unknown")
            elif record.get("replay") is None:  # a replay calls nothing, and its input is null whatever the node takes
                data = self._value(f"{where}: its input", spec.codec, record, "input")
            slot, origin = self._slot(where, record), self._origin(where, record)
            replay = self._routes(where, record["replay"]) if record.get("replay") is not None else None
            if len(self.problems) == found:
                tasks.append(Task(cast(str, id), node, data, slot, origin, record.get("passed") is True, replay))
        return tasks

    def _parked(self) -> list[Parked]:
        parked: list[Parked] = []
        seen: set[str] = set()
        for id, record in self.stored.parked:
            found = len(self.problems)
            where = f"parked interrupt {id}"
            node = self._record(where, id, record, seen)
            if node is None:
                continue
            phase = self._phase(where, record)
            spec = self.plan.nodes.get(node)
            data = NULL
            if spec is None:
                self.problems.append(f"{where}: node '{node}' is unknown")
            elif phase is BreakpointPhase.BEFORE:
                data = self._value(f"{where}: its input", spec.codec, record, "question")
            elif phase is None and spec.question is None:
                self.problems.append(f"{where}: node '{node}' is no resume node")
            elif phase is None:
                data = self._value(f"{where}: its question", cast(Codec[Any], spec.question), record, "question")
            slot, origin = self._slot(where, record), self._origin(where, record)
            if origin is None and len(self.problems) == found:
                self.problems.append(f"{where}: its origin is missing")
            routes = self._routes(where, record.get("routes")) if phase is BreakpointPhase.AFTER else ()
            if len(self.problems) == found and origin is not None:
                parked.append(Parked(cast(str, id), node, data, origin, slot, phase, routes))
        return parked

    def _record(self, where: str, id: object, record: Any, seen: set[str]) -> str | None:
        """The record's node id; None when there is nothing to go on with."""
        if not isinstance(id, str) or not isinstance(record, Mapping):
            self.problems.append(f"{where}: it has no id or is no record")
            return None
        if id in seen:
            self.problems.append(f"{where}: the id occurs twice")
            return None
        seen.add(id)
        node = cast(Record, record).get("node")
        if not isinstance(node, str):
            self.problems.append(f"{where}: it names no node")
            return None
        return node

    def _value(self, where: str, codec: Codec[Any], record: Record, name: str) -> bytes:
        """A value of the record in the codec's current version, checked to decode."""
        if name not in record:
            self.problems.append(f"{where} is missing")
            return NULL
        try:
            data = codec.upgrade(encode_json(record[name]), record.get("version", 1))
            codec.decode(data)
        except (DecodeError, EncodeError) as error:
            self.problems.append(f"{where} does not decode: {'; '.join(error.problems)}")
            return NULL
        return data

    def _phase(self, where: str, record: Record) -> BreakpointPhase | None:
        found = record.get("phase")
        if found is None:
            return None
        try:
            return BreakpointPhase(found)
        except ValueError:
            self.problems.append(f"{where}: phase {found!r} is unknown")
            return None

    def _slot(self, where: str, record: Record) -> JoinSlot | None:
        join, task = record.get("slot_join"), record.get("slot_task")
        if join is None and task is None:
            return None
        if not isinstance(join, str) or not isinstance(task, str):
            self.problems.append(f"{where}: half a join slot")
            return None
        if join not in self.plan.dynamic_joins:
            self.problems.append(f"{where}: join '{join}' is unknown")
        return JoinSlot(join, task)

    def _origin(self, where: str, record: Record) -> Origin | None:
        task, node = record.get("origin_task"), record.get("origin_node")
        if task is None and node is None:
            return None
        if not isinstance(task, str) or not isinstance(node, str):
            self.problems.append(f"{where}: half an origin")
            return None
        if node not in self.plan.nodes:
            self.problems.append(f"{where}: origin node '{node}' is unknown")
        return Origin(task, node)

    def _routes(self, where: str, record: Any) -> tuple[BoundRoute, ...]:
        try:
            routes = tuple(self._upgraded(route, one) for route, one in zip(read_routes(record), record, strict=True))
        except (ValueError, DecodeError, EncodeError) as error:
            self.problems.append(f"{where}: {error}")
            return ()
        self.problems.extend(f"{where}: it {problem}" for problem in route_problems(self.plan, routes))
        return routes

    def _upgraded(self, route: BoundRoute, record: Record) -> BoundRoute:
        node = self.plan.nodes.get(route.node)
        version = record.get("version", 1)
        if node is None or version == node.codec.version:
            return route
        if isinstance(route, BoundFanOut):
            return BoundFanOut(route.join, route.node, tuple(node.codec.upgrade(payload, version) for payload in route.payloads))
        return BoundSend(route.node, node.codec.upgrade(route.payload, version))

    def _arrivals(self) -> dict[str, frozenset[str]]:
        arrivals: dict[str, frozenset[str]] = {}
        found = self.stored.arrivals
        if not isinstance(found, Mapping):
            self.problems.append("the static arrivals are no record")
            return arrivals
        for id, nodes in cast(Mapping[str, Any], found).items():
            join = self.plan.static_joins.get(id)
            where = f"static join '{id}'"
            if join is None:
                self.problems.append(f"{where} is unknown")
            elif not isinstance(nodes, list) or not nodes:
                self.problems.append(f"{where}: its arrivals are empty")
            else:
                here = cast(list[Any], nodes)
                foreign = [node for node in here if node not in join.sources]
                if foreign:
                    self.problems.append(f"{where}: {', '.join(map(repr, foreign))} is no source of it")
                elif len(set(here)) >= len(join.sources):
                    self.problems.append(f"{where}: its arrivals are complete")
                arrivals[id] = frozenset(node for node in here if isinstance(node, str))
        return arrivals

    def _activations(self) -> dict[str, Activation]:
        activations: dict[str, Activation] = {}
        for record in self.stored.activations:
            one = self._activation(record)
            if one is None:
                continue
            where = f"activation of join '{one.join_id}' by task {one.fan_out_task}"
            key = f"{one.fan_out_task}:{one.join_id}"
            if one.join_id not in self.plan.dynamic_joins:
                self.problems.append(f"{where}: the join is unknown")
            if key in activations:
                self.problems.append(f"{where}: it occurs twice")
            strangers = sorted(one.arrived - set(one.expected))
            if strangers:
                self.problems.append(f"{where}: unexpected arrivals {', '.join(strangers)}")
            elif len(one.arrived) == len(one.expected):
                self.problems.append(f"{where}: it is complete")
            activations[key] = one
        return activations

    def _activation(self, record: Any) -> Activation | None:
        if isinstance(record, Mapping):
            given = cast(Record, record)
            join, task, expected, arrived = given.get("join"), given.get("task"), given.get("expected"), given.get("arrived", [])
            children, here = _texts(expected), _texts(arrived)
            if isinstance(join, str) and isinstance(task, str) and children is not None and here is not None:
                return Activation(join, task, tuple(children), frozenset(here))
        self.problems.append(f"activation {record!r} is no record of one")
        return None

    def _slots_match(self, tasks: list[Task], parked: list[Parked], activations: dict[str, Activation]) -> None:
        """Every waited-for child is pending or parked in that slot, and every slot belongs to an open activation."""
        here: dict[str, set[str]] = {}
        for kind, id, slot, stands_for in [
            *(("pending task", task.id, task.slot, task.stands_for.task_id) for task in tasks),
            *(("parked interrupt", one.id, one.slot, one.origin.task_id) for one in parked),
        ]:
            if slot is None:
                continue
            key = f"{slot.fan_out_task}:{slot.join_id}"
            if key not in activations:
                if slot.join_id in self.plan.dynamic_joins:
                    self.problems.append(f"{kind} {id}: no activation of join '{slot.join_id}' by task {slot.fan_out_task} is open")
            else:
                here.setdefault(key, set()).add(stands_for)
        for key, one in activations.items():
            lost = [child for child in one.expected if child not in one.arrived and child not in here.get(key, ())]
            if lost:
                where = f"activation of join '{one.join_id}' by task {one.fan_out_task}"
                self.problems.append(f"{where}: waits for {', '.join(lost)}, which is neither pending nor parked")


def _texts(value: Any) -> list[str] | None:
    """The value when it is a list of strings."""
    if isinstance(value, list) and all(isinstance(one, str) for one in cast(list[Any], value)):
        return cast(list[str], value)
    return None

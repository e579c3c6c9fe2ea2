"""Recorded results of an unfinished superstep, checked like everything else that is restored (R6.40, R8.10)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ..checkpoint import PendingWrite
from ..errors import DecodeError, EncodeError, RestoreRejected
from ._check import route_problems
from ._codec import decode_json, encode_json
from ._execution import BoundFanOut, BoundRoute, BoundSend, Execution
from ._key import StateKey
from ._outcome import Ending, TaskResult
from ._plan import NodeSpec, Plan
from ._record import read_routes
from ._state import Write


def reused_results(plan: Plan, execution: Execution, writes: Iterable[PendingWrite]) -> dict[str, TaskResult]:
    """The results by task id. Raises: RestoreRejected naming everything that does not fit."""
    tasks = {task.id: task for task in execution.frontier}
    results: dict[str, TaskResult] = {}
    problems: list[str] = []
    for write in writes:
        where = f"the recorded result of task {write.task_id}"
        task = tasks.get(write.task_id)
        spec = plan.nodes.get(write.node_id)
        if task is None or task.node != write.node_id or spec is None:
            problems.append(f"{where}: node '{write.node_id}' has no such pending task")
            continue
        reading = _Reading(plan, spec, where)
        record = reading.record(write.body)
        if record is not None:
            updates, routes = reading.updates(record.get("updates")), reading.routes(record.get("routes"))
            if "suspend" in record:
                node, question = reading.suspension(record["suspend"])
                result = TaskResult(task, Ending.SUSPENDED, updates, resume_at=node, question=question, recorded=True)
            else:
                result = TaskResult(task, Ending.COMPLETED, updates, routes, recorded=True)
            results[task.id] = result
        problems.extend(reading.problems)
    if problems:
        raise RestoreRejected(graph_id=plan.id, problems=problems)
    return results


class _Reading:
    """One pending write, read with its problems collected."""

    def __init__(self, plan: Plan, spec: NodeSpec, where: str) -> None:
        self.plan = plan
        self.spec = spec
        self.where = where
        self.problems: list[str] = []

    def record(self, body: bytes) -> dict[str, Any] | None:
        try:
            record = decode_json(body)
        except ValueError as error:
            self._add(f"is no JSON: {error}")
            return None
        if not isinstance(record, dict):
            self._add("is no record")
            return None
        return cast(dict[str, Any], record)

    def updates(self, updates: Any) -> tuple[Write, ...]:
        if not isinstance(updates, list):
            self._add("has no updates")
            return ()
        writes: list[Write] = []
        for update in cast(list[Any], updates):
            given = cast(dict[str, Any], update) if isinstance(update, dict) else {}
            id = given.get("key")
            key = self.plan.keys.get(id) if isinstance(id, str) else None
            if key is None:
                self._add(f"writes unknown state key {id!r}")
            elif key.id not in self.spec.writes:
                self._add(f"writes state key '{key.id}', which the node does not declare")
            elif given.get("remove") is True:
                writes.append(Write(key.id, None))
            elif "value" not in given:
                self._add(f"its update of '{key.id}' has no value")
            else:
                self._update(key, given, writes)
        return tuple(writes)

    def _update(self, key: StateKey[Any, Any], given: dict[str, Any], writes: list[Write]) -> None:
        try:
            data = upgraded_update(key, encode_json(given["value"]), given.get("version", 1))
            writes.append(Write(key.id, data, key.update_codec.decode(data)))
        except (DecodeError, EncodeError) as error:
            self._add(f"its update of '{key.id}' does not decode: {'; '.join(error.problems)}")

    def routes(self, routes: Any) -> tuple[BoundRoute, ...]:
        try:
            bound = tuple(self._route(route, one.get("version", 1)) for route, one in zip(read_routes(routes), routes, strict=True))
        except (ValueError, DecodeError, EncodeError) as error:
            self._add(str(error))
            return ()
        for problem in route_problems(self.plan, bound):
            self._add(problem)
        return bound

    def _route(self, route: BoundRoute, version: Any) -> BoundRoute:
        node = self.plan.nodes.get(route.node)
        if node is None or version == node.codec.version:
            return route
        if isinstance(route, BoundFanOut):
            return BoundFanOut(route.join, route.node, tuple(node.codec.upgrade(payload, version) for payload in route.payloads))
        return BoundSend(route.node, node.codec.upgrade(route.payload, version))

    def suspension(self, suspend: Any) -> tuple[str, bytes]:
        given = cast(dict[str, Any], suspend) if isinstance(suspend, dict) else {}
        id = given.get("node")
        node = self.plan.nodes.get(id) if isinstance(id, str) else None
        if node is None or node.question is None:
            self._add(f"suspends to {id!r}, which is no resume node")
            return "", b""
        try:
            data = node.question.upgrade(encode_json(given.get("question")), given.get("version", 1))
            node.question.decode(data)
        except (DecodeError, EncodeError) as error:
            self._add(f"its question does not decode: {'; '.join(error.problems)}")
            return node.id, b""
        return node.id, data

    def _add(self, problem: str) -> None:
        self.problems.append(f"{self.where} {problem}")


def upgraded_update(key: StateKey[Any, Any], data: bytes, version: Any) -> bytes:
    """An update's JSON in the key's current version: of an appending key it is migrated as a list of one.

    Raises: DecodeError; also for a custom reduce function, whose updates the migrations of its values do not fit.
    """
    if version == key.version:
        return data
    if key.appends:
        items = cast(list[Any], decode_json(key.codec.upgrade(b"[" + data + b"]", version)))
        if not isinstance(items, list) or len(items) != 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a migration may return anything
            raise DecodeError(problems=["its migration does not keep one item one item"])
        return encode_json(items[0])
    if key.codec.declared != key.update_codec.declared:
        raise DecodeError(problems=[f"it was recorded under schema version {version}, and its updates are no values"])
    return key.update_codec.upgrade(data, version)

"""What a node returned, checked against its declaration and turned into data (R3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..errors import ConfigError, DecodeError, EncodeError, InvalidRoute, NodeFailed, RunError, UndeclaredWrite
from ._codec import NULL
from ._command import Command, FanOut, Goto, Operation, Route, Update
from ._context import RunContext
from ._execution import BoundFanOut, BoundRoute, BoundSend, Task
from ._outcome import BLOCKED, COMPLETED, FAILED, SUSPENDED, TaskResult
from ._plan import NodeSpec, Plan
from ._results import Block, Fail, Suspend
from ._state import Write

_EMPTY = Command()


def check_result(plan: Plan, spec: NodeSpec, task: Task, returned: object, context: RunContext) -> TaskResult:
    """The result as data. The write set is checked first, then routes and the resume node.

    Raises: UndeclaredWrite, InvalidRoute, EncodeError, TypeError for anything else than a node result; whatever a `Fail` carries.
    """
    if returned is None:
        returned = _EMPTY
    if type(returned) is Command:
        writes = bind_writes(spec, task.id, returned.updates) if returned.updates else ()
        routes = _bind_routes(plan, spec, task, returned.routes) if returned.routes else ()
        emitted = context.emitted
        return TaskResult(task, COMPLETED, writes, routes, "", b"", None, tuple(emitted) if emitted else ())
    if isinstance(returned, Suspend):
        suspend = cast("Suspend[Any, Any]", returned)
        update = suspend.update
        if update.routes:
            _no_routes(update, "Suspend")
        writes = bind_writes(spec, task.id, update.updates) if update.updates else ()
        at = suspend.resume_at
        try:
            target = plan.nodes.get(at.id) if at.owner is plan.owner else None
        except AttributeError as error:
            raise _no_handle(spec, task, "suspends to", at) from error
        if target is None or target.question is None:
            raise InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"suspends to '{at.id}', which is no resume node of this graph")
        question, emitted = target.question.encode(suspend.question), context.emitted
        return TaskResult(task, SUSPENDED, writes, (), target.id, question, None, tuple(emitted) if emitted else ())
    if isinstance(returned, Block):
        if not isinstance(returned.error, Exception):
            raise TypeError(f"Block takes the exception that ends the turn, not {returned.error!r}")
        _no_routes(returned.update, "Block")
        writes = bind_writes(spec, task.id, returned.update.updates)
        return TaskResult(task, BLOCKED, writes, error=returned.error, emitted=tuple(context.emitted))
    if isinstance(returned, Fail):
        if not isinstance(returned.error, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            raise TypeError(f"Fail takes an exception, not {returned.error!r}")
        raise returned.error
    raise TypeError(f"a node returns Command, Suspend, Fail, Block or None, not {type(returned).__name__}")


def failure_of(spec: NodeSpec, task: Task, error: Exception) -> TaskResult:
    """The failed result of a task (R3.6). A `NodeFailed` of the node's own making stays the object it is."""
    if isinstance(error, NodeFailed):
        if not error.node_id:
            error.node_id = spec.id
        if not error.task_id:
            error.task_id = task.id
        failed: RunError = error
    elif isinstance(error, (UndeclaredWrite, InvalidRoute)):
        failed = error
    else:
        failed = NodeFailed(node_id=spec.id, task_id=task.id, cause=error)
    return TaskResult(task, FAILED, error=failed)


def _no_routes(command: Command, where: str) -> None:
    """Raises: TypeError where a command with routes makes no sense."""
    if command.routes:
        raise TypeError(f"the update of {where} carries routes; only updates are allowed there")


def refuse_routes(command: Command, field: str) -> None:
    """Raises: ConfigError where a caller gave no command, or one with routes where only updates make sense."""
    if not isinstance(command, Command):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        raise ConfigError(field=field, problems=[f"a Command is wanted, not {type(command).__name__}: Command().update(key, value)"])
    if command.routes:
        raise ConfigError(field=field, problems=["the command carries routes; only updates are allowed here"])


def bind_writes(spec: NodeSpec, task_id: str, operations: Sequence[Operation]) -> tuple[Write, ...]:
    """The operations as JSON text. Raises: UndeclaredWrite for a key outside the write set, before EncodeError for a value."""
    declared = spec.writes
    for operation in operations:
        key = operation.key
        id = key.id
        if id not in declared or (declared[id] is not key and declared[id] != key):
            raise UndeclaredWrite(node_id=spec.id, task_id=task_id, key=id)
    if len(operations) == 1:
        return (encode_operation(operations[0]),)
    return tuple(map(encode_operation, operations))


def encode_operation(operation: Operation) -> Write:
    """One operation as JSON text and a value nobody else holds. Raises: EncodeError."""
    key = operation.key
    if type(operation) is Update:
        try:
            data, value = key.update_codec.settle(operation.value)
        except EncodeError as error:
            raise EncodeError(problems=error.problems, what=f"the update of state key '{key.id}'") from error
        return Write(key.id, data, value)
    return Write(key.id, None)


def _bind_routes(plan: Plan, spec: NodeSpec, task: Task, routes: Iterable[Route]) -> tuple[BoundRoute, ...]:
    bound: list[BoundRoute] = []
    joins: set[str] = set()
    for route in routes:
        target = route.target
        try:
            node = plan.nodes.get(target.id) if target.owner is plan.owner else None
        except AttributeError as error:
            raise _no_handle(spec, task, "routes to", target) from error
        if node is None:
            raise InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"routes to node '{target.id}' of another graph")
        if type(route) is Goto:
            if not node.codec.unit:
                raise InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"goes to node '{node.id}', which takes a payload: send it one")
            bound.append(BoundSend(node.id, NULL))
        elif type(route) is FanOut:
            join = route.join
            try:
                known = join.owner is plan.owner and join.id in plan.dynamic_joins
            except AttributeError as error:
                raise _no_handle(spec, task, "fans out to", join) from error
            if not known:
                raise InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"fans out to join '{join.id}' of another graph")
            if join.id in joins:
                raise InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"fans out to join '{join.id}' twice in one command")
            joins.add(join.id)
            bound.append(BoundFanOut(join.id, node.id, tuple(node.codec.encode_all(route.payloads))))
        else:
            bound.append(BoundSend(node.id, node.codec.encode(route.payload)))
    return tuple(bound)


def _no_handle(spec: NodeSpec, task: Task, what: str, given: object) -> InvalidRoute:
    """A text where a handle belongs (R1.21)."""
    return InvalidRoute(node_id=spec.id, task_id=task.id, reason=f"{what} {given!r}, which is no handle: give what the builder returned")


def route_problems(plan: Plan, routes: Iterable[BoundRoute]) -> list[str]:
    """What does not fit the graph about stored routes: unknown node or join, a payload that does not decode (R5.22, R5.41)."""
    problems: list[str] = []
    joins: set[str] = set()
    for route in routes:
        node = plan.nodes.get(route.node)
        if node is None:
            problems.append(f"routes to unknown node '{route.node}'")
        if isinstance(route, BoundFanOut):
            if route.join not in plan.dynamic_joins:
                problems.append(f"fans out to unknown join '{route.join}'")
            if route.join in joins:
                problems.append(f"fans out to join '{route.join}' twice")
            joins.add(route.join)
        if node is None:
            continue
        for payload in route.payloads if isinstance(route, BoundFanOut) else (route.payload,):
            try:
                node.codec.decode(payload)
            except DecodeError as error:
                problems.append(f"the payload for node '{route.node}' does not decode: {'; '.join(error.problems)}")
    return problems

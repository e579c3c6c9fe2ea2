"""The JSON forms of what a checkpoint holds besides state: tasks, parked interrupts, activations, pending writes (R1.35, R6.4).

| section | name | record |
|---|---|---|
| `task` | task id | `node`, `input`; `version` of the input's schema, `slot`, `origin`, `passed`, `replay` where they apply |
| `parked` | interrupt id | `node`, `question`, `origin`; `version`, `slot`, `phase`, `routes` where they apply |
| `activation` | activation id | `join`, `task`, `expected` |
| `arrivals` | activation id | list of the child ids that arrived |
| `meta` | `birth`, `keys`, `parts` | the thread's birth id; schema versions of its keys above 1; digests of the graph's parts |

Values that are JSON text already are put in as they are: nothing is decoded to be written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json

from ..errors import EncodeError
from ._codec import encode_json, write_text
from ._config import BreakpointPhase
from ._execution import Activation, BoundFanOut, BoundRoute, BoundSend, Origin, Parked, Task
from ._execution import JoinSlot as JoinSlot
from ._outcome import SUSPENDED, TaskResult
from ._plan import Plan
from ._state import Write


def text(value: str) -> bytes:
    """An id as JSON text. Raises: EncodeError."""
    try:
        return write_text(value)
    except (UnicodeEncodeError, TypeError):  # TypeError: of a class made from str
        pass
    try:
        return to_json(value)
    except PydanticSerializationError as error:
        raise EncodeError(problems=[str(error)], what="an id") from error


def _version(version: int) -> bytes:
    return b',"version":%d' % version if version != 1 else b""


@lru_cache(maxsize=256)  # all children of a fan-out have the same
def _slot(slot: JoinSlot | None) -> bytes:
    return b"" if slot is None else b',"slot_join":%b,"slot_task":%b' % (text(slot.join_id), text(slot.fan_out_task))


def _place(plan: Plan, slot: JoinSlot | None, origin: Origin | None) -> bytes:
    placed = _slot(slot)
    if origin is None:
        return placed
    node = plan.nodes.get(origin.node_id)
    return b'%b,"origin_task":%b,"origin_node":%b' % (placed, text(origin.task_id), text(origin.node_id) if node is None else node.text)


def routes_record(plan: Plan, routes: Sequence[BoundRoute]) -> bytes:
    """Checked routes as a JSON array; each with the schema version of its payload's codec."""
    if not routes:
        return b"[]"
    parts: list[bytes] = []
    for route in routes:
        node = plan.nodes.get(route.node)
        version = _version(node.codec.version) if node is not None else b""
        if isinstance(route, BoundFanOut):
            payloads = b",".join(route.payloads)
            parts.append(
                b'{"join":' + text(route.join) + b',"node":' + text(route.node) + b',"payloads":[' + payloads + b"]" + version + b"}"
            )
        else:
            parts.append(b'{"node":' + text(route.node) + b',"payload":' + route.payload + version + b"}")
    return b"[" + b",".join(parts) + b"]"


def task_record(plan: Plan, task: Task) -> bytes:
    """A pending task (R1.33)."""
    node = plan.nodes[task.node]
    record = b'{"node":%b,"input":%b' % (node.text, task.input)
    if node.codec.version != 1:
        record += _version(node.codec.version)
    if task.slot is not None or task.origin is not None:
        record += _place(plan, task.slot, task.origin)
    if task.passed:
        record += b',"passed":true'
    if task.replay is not None:
        record += b',"replay":' + routes_record(plan, task.replay)
    return record + b"}"


def parked_record(plan: Plan, parked: Parked) -> bytes:
    """A parked interrupt (R1.34): readable as it is by whoever lists what waits."""
    node = plan.nodes[parked.node]
    if parked.phase is None:
        version = node.question.version if node.question is not None else 1
    else:
        version = node.codec.version if parked.phase is BreakpointPhase.BEFORE else 1
    record = b'{"node":%b,"question":%b' % (node.text, parked.data)
    if version != 1:
        record += _version(version)
    record += _place(plan, parked.slot, parked.origin)
    if parked.phase is not None:
        record += b',"phase":' + text(parked.phase.value)
    if parked.phase is BreakpointPhase.AFTER:
        record += b',"routes":' + routes_record(plan, parked.routes)
    return record + b"}"


def activation_record(one: Activation) -> bytes:
    """An open activation without its arrivals, which are a list of their own."""
    return b'{"join":%b,"task":%b,"expected":%b}' % (text(one.join_id), text(one.fan_out_task), to_json(one.expected))


def arrival_record(child: str) -> bytes:
    """One arrival."""
    return text(child)


def write_record(plan: Plan, result: TaskResult) -> bytes:
    """The body of a pending write: encoded operations, routes, and the suspension if there is one (R6.4)."""
    writes = result.writes
    updates = b",".join([update_record(plan, write, write.data) for write in writes]) if writes else b""
    record = b'{"updates":[%b],"routes":%b' % (updates, routes_record(plan, result.routes) if result.routes else b"[]")
    if result.ending is SUSPENDED:
        node = plan.nodes[result.resume_at]
        version = _version(node.question.version if node.question is not None else 1)
        record += b',"suspend":{"node":%b,"question":%b%b}' % (node.text, result.question, version)
    return record + b"}"


def update_record(plan: Plan, write: Write, value: bytes | None) -> bytes:
    """One operation; `value` is what is shown for it."""
    key = plan.keys[write.key]
    if value is None:
        return b'{"key":%b,"remove":true}' % key.text
    return key.opening + value + key.closing


def read_routes(record: Any) -> tuple[BoundRoute, ...]:
    """Stored routes again, payloads as JSON text, not yet checked against a graph. Raises: ValueError for another shape."""
    if not isinstance(record, list):
        raise ValueError("the routes are not a list")
    return tuple(_read_route(one) for one in cast(list[Any], record))


def _read_route(record: Any) -> BoundRoute:
    given: Mapping[str, Any] = cast(Mapping[str, Any], record) if isinstance(record, Mapping) else {}
    node = given.get("node")
    if not isinstance(node, str):
        raise ValueError("a route names no node")
    if "join" in given:
        join, payloads = given["join"], given.get("payloads")
        if not isinstance(join, str) or not isinstance(payloads, list):
            raise ValueError("a fan-out names no join or has no payloads")
        return BoundFanOut(join, node, tuple(encode_json(payload) for payload in cast(list[Any], payloads)))
    if "payload" not in given:
        raise ValueError("a route has no payload")
    return BoundSend(node, encode_json(given["payload"]))

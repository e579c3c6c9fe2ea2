"""An execution as data, in two shapes: one plain JSON object (R1.35) and a store's entries (D17). No code is ever stored (D7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from ..checkpoint import Checkpoint, CheckpointHeader, Entries, Entry
from ..errors import EncodeError, RestoreRejected, UnsupportedCheckpointFormat
from ._codec import decode_json, encode_json, plain
from ._execution import Execution
from ._plan import Plan
from ._record import activation_record, arrival_record, parked_record, task_record
from ._state import SECTION, entry_of

SNAPSHOT_FORMAT = 1
Record = Mapping[str, Any]


@dataclass(slots=True)
class Stored:
    """What was stored of an execution, in one shape whatever it was read from; nothing of it is checked yet."""

    graph_id: object
    graph_version: object
    fingerprint: object
    superstep: object
    paused: object
    state: list[tuple[str, bytes | list[bytes], Any]] = field(default_factory=list[tuple[str, bytes | list[bytes], Any]])
    tasks: list[tuple[object, Any]] = field(default_factory=list[tuple[object, Any]])
    arrivals: object = None
    activations: list[Any] = field(default_factory=list[Any])
    parked: list[tuple[object, Any]] = field(default_factory=list[tuple[object, Any]])
    parts: Mapping[str, str] | None = None
    problems: list[str] = field(default_factory=list[str])


def body_of(execution: Execution, settled: str | None) -> bytes:
    """What a checkpoint's header carries for the graph: bounded by the graph, not by the thread.

    `settled` is the newest settled checkpoint before this one.
    """
    if not execution.arrivals:
        return _plain_body(execution.paused, settled)
    body: dict[str, Any] = {}
    if execution.paused:
        body["paused"] = True
    body["arrivals"] = {join: sorted(nodes) for join, nodes in execution.arrivals.items()}
    if settled is not None:
        body["settled"] = settled
    return encode_json(body)


@lru_cache(maxsize=256)
def _plain_body(paused: bool, settled: str | None) -> bytes:
    """The usual body; one turn's checkpoints share it."""
    return encode_json({**({"paused": True} if paused else {}), **({"settled": settled} if settled is not None else {})})


def entries_of(execution: Execution, birth_id: str) -> Entries:
    """Everything a store holds of the execution: what a patch from nothing has to make."""
    plan = execution.plan
    entries: Entries = {}
    for id, slot in execution.slots.items():
        entries[(SECTION, id)] = entry_of(plan.keys[id], slot)
    entries.update(meta_entries(plan, birth_id))
    for task in execution.frontier:
        entries[("task", task.id)] = task_record(plan, task)
    for parked in execution.parked.values():
        entries[("parked", parked.id)] = parked_record(plan, parked)
    for key, one in execution.activations.items():
        entries[("activation", key)] = activation_record(one)
        if one.arrived:
            entries[("arrivals", key)] = [arrival_record(child) for child in one.expected if child in one.arrived]
    return entries


def meta_entries(plan: Plan, birth_id: str) -> Entries:
    """The thread's birth id, its keys' schema versions, and the digests of the graph's parts (D13, D14)."""
    entries: Entries = {("meta", "birth"): encode_json(birth_id)}
    if plan.key_versions != b"{}":
        entries[("meta", "keys")] = plan.key_versions
    if plan.parts:
        entries[("meta", "parts")] = plan.parts_text
    return entries


def birth_of(checkpoint: Checkpoint) -> str:
    """The thread's birth id (D13)."""
    stored = checkpoint.entries.get(("meta", "birth"))
    return str(decode_json(stored)) if isinstance(stored, bytes) else ""


def settled_of(header: CheckpointHeader) -> str | None:
    """The newest settled checkpoint up to this one, itself included."""
    if header.status.settled:
        return header.id
    settled = cast(dict[str, Any], decode_json(header.body)).get("settled")
    return settled if isinstance(settled, str) else None


def open_body(header: CheckpointHeader) -> dict[str, Any]:
    """What the graph kept in a header, for a copy. Raises: RestoreRejected when it cannot be read."""
    problems: list[str] = []
    body = dict(_record(header.body, "the checkpoint's body", problems))
    if problems:
        raise RestoreRejected(graph_id=header.graph_id, problems=problems)
    return body


def snapshot_of(execution: Execution) -> dict[str, Any]:
    """The execution as one plain JSON object (R1.35)."""
    plan = execution.plan
    state: dict[str, Any] = {}
    for id, slot in execution.slots.items():
        entry = entry_of(plan.keys[id], slot)
        value = [decode_json(item) for item in entry] if isinstance(entry, list) else decode_json(entry)
        state[id] = {"version": plan.keys[id].version, "value": value}
    return {
        "format": SNAPSHOT_FORMAT,
        "graph_id": plan.id,
        "graph_version": plan.version,
        "fingerprint": plan.fingerprint,
        "superstep": execution.superstep,
        "paused": execution.paused,
        "state": state,
        "tasks": [{"id": task.id, **decode_json(task_record(plan, task))} for task in execution.frontier],
        "arrivals": {join: sorted(nodes) for join, nodes in execution.arrivals.items()},
        "activations": [
            {**decode_json(activation_record(one)), "arrived": [child for child in one.expected if child in one.arrived]}
            for one in execution.activations.values()
        ],
        "parked": [{"id": parked.id, **decode_json(parked_record(plan, parked))} for parked in execution.parked.values()],
    }


def stored_of_snapshot(plan: Plan, snapshot: Mapping[str, Any]) -> Stored:
    """A JSON snapshot in the common shape. Raises: UnsupportedCheckpointFormat; RestoreRejected where it has no such shape at all."""
    try:
        given = plain(snapshot)  # anything may have been given; from here on it is JSON
    except EncodeError as error:
        raise RestoreRejected(graph_id=plan.id, problems=[f"the snapshot is no JSON: {problem}" for problem in error.problems]) from error
    if not isinstance(given, dict):
        raise RestoreRejected(graph_id=plan.id, problems=[f"a snapshot is a record, not {type(given).__name__}"])
    snapshot = cast(dict[str, Any], given)
    found: object = snapshot.get("format")
    if isinstance(found, bool) or found != SNAPSHOT_FORMAT:
        raise UnsupportedCheckpointFormat(found=found, supported=SNAPSHOT_FORMAT)
    sections = {"state": Mapping, "tasks": list, "arrivals": Mapping, "activations": list, "parked": list}
    broken = [f"'{name}' is missing or of the wrong kind" for name, kind in sections.items() if not isinstance(snapshot.get(name), kind)]
    if broken:
        raise RestoreRejected(graph_id=plan.id, problems=broken)
    get = snapshot.get
    stored = Stored(get("graph_id"), get("graph_version"), get("fingerprint"), get("superstep"), get("paused"))
    for id, one in snapshot["state"].items():
        record: Record = cast(Record, one) if isinstance(one, Mapping) else {}
        stored.state.append((str(id), encode_json(record.get("value")), record.get("version", 1)))
    stored.tasks = [_named(one) for one in snapshot["tasks"]]
    stored.arrivals = snapshot["arrivals"]
    stored.activations = list(snapshot["activations"])
    stored.parked = [_named(one) for one in snapshot["parked"]]
    return stored


def _named(one: Any) -> tuple[object, Any]:
    return (cast(Record, one).get("id") if isinstance(one, Mapping) else None), cast(Any, one)


def stored_of_checkpoint(checkpoint: Checkpoint) -> Stored:
    """A stored checkpoint in the common shape. What is no JSON, or not of the kind it must be, is among its `problems`."""
    header = checkpoint.header
    problems: list[str] = []
    body = _record(header.body, "the checkpoint's body", problems)
    stored = Stored(header.graph_id, header.graph_version, header.fingerprint, header.superstep, body.get("paused", False))
    stored.arrivals = body.get("arrivals", {})
    entries = checkpoint.entries
    versions = _record(entries.get(("meta", "keys"), b"{}"), "the schema versions of its keys", problems)
    if ("meta", "parts") in entries:
        stored.parts = _record(entries[("meta", "parts")], "the digests of its graph's parts", problems)
    if not isinstance(_read(entries.get(("meta", "birth"), b'""'), "its birth id", problems), str):
        problems.append("its birth id is no text")
    for (section, name), entry in entries.items():
        if section == SECTION:
            stored.state.append((name, entry, versions.get(name, 1)))
        elif section in ("task", "parked", "activation"):
            found = len(problems)
            record = _read(entry, f"{section} {name}", problems)
            if len(problems) > found:
                continue
            if section == "task":
                stored.tasks.append((name, record))
            elif section == "parked":
                stored.parked.append((name, record))
            else:
                children = _items(entries.get(("arrivals", name), []), f"the arrivals of activation {name}", problems)
                stored.activations.append({**record, "arrived": children} if isinstance(record, dict) else record)
    stored.problems = [f"checkpoint '{checkpoint.id}' is damaged: {problem}" for problem in problems]
    return stored


def _read(entry: Entry, where: str, problems: list[str]) -> Any:
    """The entry's value; what cannot be read is a problem, and None."""
    if isinstance(entry, list):
        problems.append(f"{where}: it was stored as a list")
        return None
    try:
        return decode_json(entry)
    except ValueError as error:
        problems.append(f"{where}: it is no JSON: {error}")
        return None


def _record(entry: Entry, where: str, problems: list[str]) -> Record:
    found = len(problems)
    value = _read(entry, where, problems)
    if isinstance(value, dict):
        return cast(Record, value)
    if len(problems) == found:
        problems.append(f"{where}: it is no record")
    return {}


def _items(entry: Entry, where: str, problems: list[str]) -> list[Any]:
    if isinstance(entry, bytes):
        problems.append(f"{where}: they are no list")
        return []
    return [_read(item, where, problems) for item in entry]

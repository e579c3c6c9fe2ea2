"""What each task of a superstep did, beside its checkpoint: for a timeline. Nothing that the checkpoint holds is stored again.

A long input is read from the parent's pending task; an update that became a list item, or holds one, refers to that item; a
route names the tasks it made. A closing Failed checkpoint keeps names only, since its turn is retracted (R6.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic_core import to_json

from ..checkpoint import Checkpoint, Entries
from ..errors import DecodeError
from ._codec import NULL, decode_json
from ._frontier import Advance, Routed
from ._outcome import BLOCKED, Ending, TaskResult
from ._plan import Plan
from ._record import text, update_record
from ._state import SECTION, Applied, Write

_SHORT = 64
_ITEM = "$item"
_MARK = b'"$item"'
_ESCAPED = re.compile(rb"\\.")  # within a JSON string
_ENDINGS = {ending: ending.encode() for ending in Ending}


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """What one task did: `ending` is completed, suspended, held, replayed or blocked. `input` is None too where its text is gone.

    `updates` are objects with `key` and `value`, or `key` and `remove`; `routes` objects with `node`, `tasks` and, for a
    fan-out, `join`.
    """

    task_id: str
    node_id: str
    ending: str
    input: Any
    updates: tuple[dict[str, Any], ...]
    routes: tuple[dict[str, Any], ...]


def journal_of(plan: Plan, results: Sequence[TaskResult], following: Advance, *, inline: bool) -> bytes:
    """The journal of a committed superstep; `inline` where the parent checkpoint will not hold the tasks' inputs."""
    nodes, blocked, routed = plan.nodes, following.blocked is not None, following.routed
    added, placed = following.applied.added, following.applied.placed
    lines: list[bytes] = []
    at = 0
    for result in results:
        task = result.task
        id = text(task.id)
        ending = b"replayed" if task.replay is not None else _ENDINGS[result.ending]
        line = b'{"task":%b,"node":%b,"ending":"%b"' % (id, nodes[task.node].text, ending)
        if not blocked and result.ending is not BLOCKED:
            if task.input != NULL:
                line += b',"input":' + task.input if inline or not task.input[_SHORT:] else b',"input_of":' + id
            writes = result.writes
            if writes:
                shown: list[bytes] = []
                for index, write in enumerate(writes, at):
                    data = write.data
                    if data is not None and data[_SHORT:] and (write.key in added or index in placed):
                        shown.append(_by_item(plan, following.applied, write, index))
                    else:
                        shown.append(update_record(plan, write, data))
                line += b',"updates":[%b]' % b",".join(shown)
                at += len(writes)
            if task.id in routed:
                made = routed[task.id]
                line += b',"routes":[%b]' % (_made(plan, made[0]) if len(made) == 1 else b",".join([_made(plan, one) for one in made]))
        else:
            at += len(result.writes)
        lines.append(line + b"}")
    return b"[%b]" % b",".join(lines)


def _made(plan: Plan, routed: Routed) -> bytes:
    made = routed.tasks
    node, tasks = plan.nodes[routed.node].text, b"[%b]" % text(made[0]) if len(made) == 1 else to_json(made)
    if routed.join is None:
        return b'{"node":%b,"tasks":%b}' % (node, tasks)
    return b'{"node":%b,"join":%b,"tasks":%b}' % (node, text(routed.join), tasks)


def _by_item(plan: Plan, applied: Applied, write: Write, index: int) -> bytes:
    """An update whose text is long: it refers to the list item that it became, or that it holds."""
    data = write.data
    if data is not None and _MARK not in data:
        if index in applied.placed:
            return b'{"key":%b,"item":%d}' % (plan.keys[write.key].text, applied.placed[index])
        shorter = _referring(data, applied.added[write.key])
        if shorter is not data:
            return b'%b,"refers":true}' % update_record(plan, write, shorter)[:-1]
    return update_record(plan, write, data)


def _referring(data: bytes, items: Mapping[int, bytes]) -> bytes:
    """JSON text with a reference in place of every long object in it that is one of these list items."""
    for place, item in items.items():
        if item[_SHORT:] and item[:1] == b"{":
            before, found, after = data.partition(item)
            # an object's text is an object wherever no string is open before it
            quotes = _ESCAPED.sub(b"", before) if b"\\" in before else before
            if found and quotes.count(b'"') % 2 == 0:
                data = b'%b{"$item":%d}%b' % (before, place, after)
    return data


def task_records(checkpoint: Checkpoint, parent: Checkpoint | None = None) -> tuple[TaskRecord, ...]:
    """What each task did in the superstep that this checkpoint committed; `parent` is its parent checkpoint, for long inputs.

    Raises: DecodeError for a journal that the runtime did not write.
    """
    try:
        return _records(checkpoint, parent)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DecodeError(problems=[f"$: {type(error).__name__}: {error}"], what=f"the journal of checkpoint '{checkpoint.id}'") from error


def _records(checkpoint: Checkpoint, parent: Checkpoint | None) -> tuple[TaskRecord, ...]:
    records: list[TaskRecord] = []
    for line in cast(list[dict[str, Any]], decode_json(checkpoint.header.journal)):
        given = line.get("input")
        if "input_of" in line and parent is not None:
            task = parent.entries.get(("task", line["input_of"]))
            given = decode_json(task).get("input") if isinstance(task, bytes) else None
        updates = tuple(_resolved(update, checkpoint.entries) for update in line.get("updates", ()))
        records.append(TaskRecord(line["task"], line["node"], line["ending"], given, updates, tuple(line.get("routes", ()))))
    return tuple(records)


def _resolved(update: dict[str, Any], entries: Entries) -> dict[str, Any]:
    items = entries.get((SECTION, update["key"]))
    held = items if isinstance(items, list) else []

    def item(index: int) -> Any:
        return decode_json(held[index]) if 0 <= index < len(held) else None

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            given = cast(dict[str, Any], value)
            if len(given) == 1 and isinstance(given.get(_ITEM), int):
                return item(given[_ITEM])
            return {name: walk(one) for name, one in given.items()}
        return [walk(one) for one in cast(list[Any], value)] if isinstance(value, list) else value

    if "item" in update:
        return {"key": update["key"], "value": item(update["item"])}
    if "value" in update:
        return {"key": update["key"], "value": walk(update["value"]) if update.get("refers") is True else update["value"]}
    return {"key": update["key"], "remove": True}

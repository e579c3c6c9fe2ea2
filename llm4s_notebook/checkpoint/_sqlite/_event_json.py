"""The events of one commit as JSON text: one array each, in a fixed order and without what their row tells already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec.json

from .._clock import from_microseconds, to_microseconds
from .._event import EventDraft, EventRecord, RunEvent, event_from_json
from ._naming import number_of

_CODES: Final = {
    "RunStarted": "start", "RunRecovered": "recover", "RunResumed": "resume", "TaskCompleted": "done", "TaskFailed": "fail",
    "TaskSuspended": "park", "CheckpointCommitted": "step", "RunSuspended": "wait", "RunCompleted": "end", "RunFailed": "failed",
    "RunCancelled": "cancel", "RunTimedOut": "timeout", "Custom": "note", "ThreadSeeded": "seed", "ThreadForked": "fork",
    "StateUpdated": "edit",
}  # fmt: skip
_KINDS: Final = {code: name for name, code in _CODES.items()}
_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "recover": ("from_checkpoint", "principal"), "start": ("principal",), "resume": ("answered", "principal"), "fail": ("message",),
    "park": ("interrupt_id",), "step": ("superstep",), "wait": ("interrupts",), "failed": ("message",),
    "note": ("name", "version", "payload"), "fork": ("source_thread_id", "source_checkpoint_id"), "edit": ("as_node",),
}  # fmt: skip
_OPTIONAL: Final = ("principal", "payload", "as_node")  # which may be missing at the end
_LISTS: Final = ("resume", "wait")  # whose first field is a list of ids
_LONG: Final = 256
_quote = json.encoder.encode_basestring
_quote_long = msgspec.json.Encoder().encode  # a sixth of the time, where many ids are one text
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_text(drafts: Sequence[EventDraft], at: int, run_id: str | None, number: int) -> str:
    """Of events of `run_id` and checkpoint `number` nothing else is said; times count from `at` microseconds.

    Put together by hand: this is on the way of every commit.

    Raises: TypeError, ValueError for a payload that is not JSON.
    """
    made: list[str] = []
    checkpoints: dict[str | None, str] = {}
    moment: datetime | None = None
    since = 0
    for draft in drafts:
        code = _CODES[type(draft.event).__name__]
        if draft.timestamp is not moment:  # what is told together happened at one time
            moment = draft.timestamp
            since = to_microseconds(moment) - at
        line = f'["{code}",{since}'
        task_id, node_id = draft.task_id, draft.node_id
        own = _own(code, draft.event) if code in _FIELDS else None
        other = draft.run_id != run_id
        left = 4 if other else 3 if own else 2 if node_id is not None else 1 if task_id is not None else 0
        if left or draft.checkpoint_id is not None:
            checkpoint = checkpoints.get(draft.checkpoint_id)
            if checkpoint is None:
                checkpoint = checkpoints[draft.checkpoint_id] = _checkpoint(draft.checkpoint_id, run_id, number)
            line += checkpoint
        if left:
            line += ",null" if task_id is None else "," + _quote(task_id)
        if left > 1:
            line += ",null" if node_id is None else "," + _quote(node_id)
        if left > 2:
            line += "," + (own or "null")
        if other:
            line += "," + _encode(draft.run_id)
        made.append(line + "]")
    return f"[{','.join(made)}]"


def _checkpoint(checkpoint_id: str | None, run_id: str | None, number: int) -> str:
    if checkpoint_id is None:
        return ",null"
    found = number_of(run_id, checkpoint_id) if run_id is not None else None
    return f",{number - found}" if found is not None else "," + _quote(checkpoint_id)


def _own(code: str, event: RunEvent) -> str | None:
    """The fields of the kind; a list of ids as one text where that is unambiguous."""
    own = [getattr(event, name) for name in _FIELDS[code]]
    if code in _LISTS and own[0]:
        joined = ",".join(own[0])
        if joined.count(",") == len(own[0]) - 1:
            own[0] = joined
    while own and own[-1] is None:
        own.pop()
    if len(own) == 1:
        if type(own[0]) is int:
            return f"[{own[0]}]"
        if type(own[0]) is str:
            return f"[{_quote_long(own[0]).decode() if own[0][_LONG:] else _quote(own[0])}]"
    return _encode(own) if own else None


def _filled(line: Any) -> Any:
    return [*line, *[None] * (7 - len(line))]


def from_text(thread_id: str, first: int, at: int, run_id: str | None, number: int, data: str) -> list[EventRecord]:
    """The events again, numbered from `first`. Raises: ValueError, TypeError, OverflowError for text that is none."""
    found: list[EventRecord] = []
    for index, line in enumerate(json.loads(data)):
        code, since, checkpoint, task_id, node_id, own, other = _filled(line)
        if code not in _KINDS:
            raise ValueError(f"unknown kind of event {code!r}")
        names = _FIELDS.get(code, ())
        values = [*(own or ())]
        if any(name not in _OPTIONAL for name in names[len(values) :]):
            raise ValueError(f"an event {_KINDS[code]} has lost a field")
        values.extend([None] * (len(names) - len(values)))
        if code in _LISTS and isinstance(values[0], str):
            values[0] = values[0].split(",")
        event = event_from_json({"type": _KINDS[code], **dict(zip(names, values, strict=True))})
        if isinstance(checkpoint, int):
            checkpoint = f"{run_id}/{number - checkpoint}"
        place = (other or run_id or "", checkpoint, task_id, node_id)
        found.append(EventRecord(thread_id, first + index, *place, from_microseconds(at + since), event))
    return found

"""The events of one commit as JSON text: one array each, in a fixed order and without what their row tells already."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec.json

from .._clock import from_microseconds, to_microseconds
from .._event import (
    CheckpointCommitted,
    Custom,
    EventDraft,
    EventRecord,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    RunRecovered,
    RunResumed,
    RunStarted,
    RunSuspended,
    RunTimedOut,
    StateUpdated,
    TaskCompleted,
    TaskFailed,
    TaskSuspended,
    ThreadForked,
    ThreadSeeded,
    event_from_json,
)
from ._naming import number_of

_CODES: Final[dict[type[RunEvent], str]] = {
    RunStarted: "start", RunRecovered: "recover", RunResumed: "resume", TaskCompleted: "done", TaskFailed: "fail",
    TaskSuspended: "park", CheckpointCommitted: "step", RunSuspended: "wait", RunCompleted: "end", RunFailed: "failed",
    RunCancelled: "cancel", RunTimedOut: "timeout", Custom: "note", ThreadSeeded: "seed", ThreadForked: "fork",
    StateUpdated: "edit",
}  # fmt: skip
_KINDS: Final = {code: kind.__name__ for kind, code in _CODES.items()}
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


def to_text(drafts: Sequence[EventDraft], at: int, run_id: str | None, number: int, since: datetime | None = None) -> str:
    """Of events of `run_id` and checkpoint `number` nothing else is said; times count from `at` microseconds, which is `since`.

    Put together by hand: this is on the way of every commit.

    Raises: TypeError, ValueError for a payload that is not JSON.
    """
    made: list[str] = []
    moment, passed = since, 0
    checkpoint_id, checkpoint = None, ",null"
    for draft in drafts:
        event, task_id, node_id = draft.event, draft.task_id, draft.node_id
        code, fields = _WRITTEN[type(event)]
        if draft.timestamp is not moment:  # what is told together happened at one time
            moment = draft.timestamp
            passed = to_microseconds(moment) - at
        if draft.checkpoint_id is not checkpoint_id:
            checkpoint_id = draft.checkpoint_id
            checkpoint = _checkpoint(checkpoint_id, run_id, number)
        own = fields(code, event) if fields is not None else None
        task = "null" if task_id is None else _quote(task_id)
        node = "null" if node_id is None else _quote(node_id)
        # what would be null is left out at the end
        if draft.run_id != run_id:
            made.append(f'["{code}",{passed}{checkpoint},{task},{node},{own or "null"},{_encode(draft.run_id)}]')
        elif own is not None:
            made.append(f'["{code}",{passed}{checkpoint},{task},{node},{own}]')
        elif node_id is not None:
            made.append(f'["{code}",{passed}{checkpoint},{task},{node}]')
        elif task_id is not None:
            made.append(f'["{code}",{passed}{checkpoint},{task}]')
        else:
            made.append(f'["{code}",{passed}]' if checkpoint_id is None else f'["{code}",{passed}{checkpoint}]')
    return f"[{','.join(made)}]"


def _checkpoint(checkpoint_id: str | None, run_id: str | None, number: int) -> str:
    if checkpoint_id is None:
        return ",null"
    if run_id is not None:
        for back in range(min(number, 3)):  # most are of the last few
            if checkpoint_id == f"{run_id}/{number - back}":
                return f",{back}"
        found = number_of(run_id, checkpoint_id)
        if found is not None:
            return f",{number - found}"
    return "," + _quote(checkpoint_id)


def _own(code: str, event: RunEvent) -> str | None:
    """The fields of the kind."""
    own = [getattr(event, name) for name in _FIELDS[code]]
    while own and own[-1] is None:
        own.pop()
    if len(own) == 1 and type(own[0]) is str:
        return f"[{_quote(own[0])}]"
    return _encode(own) if own else None


def _superstep(code: str, event: CheckpointCommitted) -> str | None:
    superstep = event.superstep
    return f"[{superstep}]" if type(superstep) is int else _own(code, event)


def _parked(code: str, event: TaskSuspended) -> str | None:
    interrupt_id = event.interrupt_id
    return f"[{_quote(interrupt_id)}]" if type(interrupt_id) is str else _own(code, event)


def _answered(code: str, event: RunResumed) -> str | None:
    ids = _ids(event.answered)
    return _own(code, event) if ids is None else f"[{ids}]" if event.principal is None else f"[{ids},{_encode(event.principal)}]"


def _waiting(code: str, event: RunSuspended) -> str | None:
    ids = _ids(event.interrupts)
    return _own(code, event) if ids is None else f"[{ids}]"


def _ids(ids: Sequence[str]) -> str | None:
    """A list of ids as one text, where that is unambiguous and not empty."""
    joined = ",".join(ids)
    if not ids or joined.count(",") != len(ids) - 1:
        return None
    return _quote_long(joined).decode() if joined[_LONG:] else _quote(joined)


_Write: TypeAlias = Callable[[str, Any], str | None]
_SPECIAL: Final[dict[str, _Write]] = {"step": _superstep, "park": _parked, "resume": _answered, "wait": _waiting}
_WRITTEN: Final[dict[type[RunEvent], tuple[str, _Write | None]]] = {
    kind: (code, _SPECIAL.get(code, _own if code in _FIELDS else None)) for kind, code in _CODES.items()
}
"""What is written of each kind: its code, and what makes the text of its fields."""


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

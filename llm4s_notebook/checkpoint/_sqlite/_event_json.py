"""An event's place in the JSON text that holds the events of one commit: one array each, in a fixed order."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from .._clock import from_microseconds, to_microseconds
from .._event import EventDraft, EventRecord, RunEvent, event_from_json

_names: dict[type[RunEvent], tuple[str, ...]] = {}


def to_json(draft: EventDraft) -> list[Any]:
    """Run, checkpoint, task, node, time, kind, and the fields of the kind where it has any."""
    event = draft.event
    kind = type(event)
    names = _names.get(kind)
    if names is None:
        names = _names[kind] = tuple(one.name for one in fields(event))
    place = [draft.run_id, draft.checkpoint_id, draft.task_id, draft.node_id, to_microseconds(draft.timestamp), kind.__name__]
    return [*place, {name: getattr(event, name) for name in names}] if names else place


def from_text(thread_id: str, first: int, data: str) -> list[EventRecord]:
    """The events of one commit again, numbered from `first`. Raises: ValueError, TypeError, OverflowError for text that is none."""
    records: list[EventRecord] = []
    for index, (run_id, checkpoint_id, task_id, node_id, at, kind, *own) in enumerate(json.loads(data)):
        event = event_from_json({**(own[0] if own else {}), "type": kind})
        records.append(EventRecord(thread_id, first + index, run_id, checkpoint_id, task_id, node_id, from_microseconds(at), event))
    return records

"""What is stored so that a run can be taken up again: checkpoints, pending writes, events and claims; JSON in, JSON out.
Knows neither graphs nor agents; SQLite is loaded when its store is first asked for (D19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._clock import Clock, SystemClock
from ._event import EventDraft, EventRecord, RunEvent
from ._memory import InMemoryCheckpointer
from ._patch import Append, Entries, Entry, PatchOp, Replace, Set, Truncate, Unset, apply_patch, whole
from ._protocol import Checkpointer
from ._types import (
    FORMAT_VERSION,
    Checkpoint,
    CheckpointDraft,
    CheckpointHeader,
    CheckpointStatus,
    Claim,
    Commit,
    Head,
    LatestCheckpoint,
    PendingWrite,
    RetentionPolicy,
    ThreadSummary,
    Waiting,
)
from ._value import Value

if TYPE_CHECKING:
    from ._sqlite import SqliteCheckpointer

__all__ = [
    "FORMAT_VERSION",
    "Append",
    "Checkpoint",
    "CheckpointDraft",
    "CheckpointHeader",
    "CheckpointStatus",
    "Checkpointer",
    "Claim",
    "Clock",
    "Commit",
    "Entries",
    "Entry",
    "EventDraft",
    "EventRecord",
    "Head",
    "InMemoryCheckpointer",
    "LatestCheckpoint",
    "PatchOp",
    "PendingWrite",
    "Replace",
    "RetentionPolicy",
    "RunEvent",
    "Set",
    "SqliteCheckpointer",
    "SystemClock",
    "ThreadSummary",
    "Truncate",
    "Unset",
    "Value",
    "Waiting",
    "apply_patch",
    "whole",
]


def __getattr__(name: str) -> object:
    if name == "SqliteCheckpointer":
        from ._sqlite import SqliteCheckpointer

        return SqliteCheckpointer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""The events of a run (R7.1), as they are stored and as a subscriber sees them; they are defined where they are stored."""

from __future__ import annotations

from ..checkpoint import EventRecord, RunEvent
from ..checkpoint._event import (
    CheckpointCommitted,
    Custom,
    Gap,
    Progress,
    RunCancelled,
    RunCompleted,
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
)

__all__ = [
    "CheckpointCommitted",
    "Custom",
    "EventRecord",
    "Gap",
    "Progress",
    "RunCancelled",
    "RunCompleted",
    "RunEvent",
    "RunFailed",
    "RunRecovered",
    "RunResumed",
    "RunStarted",
    "RunSuspended",
    "RunTimedOut",
    "StateUpdated",
    "TaskCompleted",
    "TaskFailed",
    "TaskSuspended",
    "ThreadForked",
    "ThreadSeeded",
]

"""One event of each durable kind."""

from __future__ import annotations

from ...checkpoint._event import (
    CheckpointCommitted,
    Custom,
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
)

EVERY_EVENT: tuple[RunEvent, ...] = (
    RunStarted("ana"),
    RunRecovered("run/1", None),
    RunResumed(("0.0", "1.0"), "béa"),
    TaskCompleted(),
    TaskFailed("naïve “quotes” \n"),
    TaskSuspended("1.0"),
    CheckpointCommitted(3),
    RunSuspended(("1.0", "2.0")),
    RunCompleted(),
    RunFailed("no"),
    RunCancelled(),
    RunTimedOut(),
    Custom("note", 2, {"深": [1, 2.5, None, True, {"x": "🦊 "}]}),
    ThreadSeeded(),
    ThreadForked("t", "run/1"),
    StateUpdated("node"),
)
"""One of each kind of R7.1."""

"""What the present turn has done so far, reduced from the thread's events: superstep, nodes, the route taken (W3.3, W4.3)."""

from __future__ import annotations

from collections.abc import Iterable

from ..graph.events import (
    CheckpointCommitted,
    EventRecord,
    RunCompleted,
    RunRecovered,
    RunResumed,
    RunStarted,
    RunSuspended,
    TaskCompleted,
    TaskFailed,
    TaskSuspended,
)


class Trace:
    """Reduces durable and live events, in order; events seen before change nothing."""

    def __init__(self) -> None:
        self._sequence = 0
        self._forget_turn()

    def _forget_turn(self) -> None:
        self.superstep: int | None = None
        self.done: set[str] = set()
        self.failed: set[str] = set()
        self._earlier: set[str] = set()  # nodes that ran in a superstep before the present one
        self._present: set[str] = set()
        self._last: set[str] = set()  # nodes that ran in the last superstep in which any did
        self._followed: set[tuple[str, str]] = set()
        self._straight: set[tuple[str, str]] = set()

    @property
    def ran(self) -> frozenset[str]:
        """Ids of the nodes that have completed a task of this turn; a copy, for any thread."""
        return frozenset(self.done)

    @property
    def followed(self) -> frozenset[tuple[str, str]]:
        """Pairs of nodes of which the second was reached - ran, failed or asked - in a later superstep of this turn. A copy."""
        return frozenset(self._followed)

    @property
    def straight(self) -> frozenset[tuple[str, str]]:
        """Those of `followed` whose first node ran just before: of several ways to a node, these were the ones. A copy."""
        return frozenset(self._straight)

    def see(self, records: Iterable[EventRecord]) -> None:
        for record in records:
            if record.sequence is not None:
                if record.sequence <= self._sequence:
                    continue
                self._sequence = record.sequence
            self._take(record)

    def _take(self, record: EventRecord) -> None:
        match record.event:
            case RunStarted():
                self._forget_turn()
            case RunResumed() | RunRecovered():
                self.failed = set()
                self._next_superstep()
            case TaskCompleted():
                self._ran(record)
            case TaskSuspended():
                self._reached(record.node_id)
            case TaskFailed():
                if record.node_id is not None:
                    self.failed.add(record.node_id)
                    self._reached(record.node_id)
            case CheckpointCommitted(superstep=superstep):
                self.superstep = superstep
                self._next_superstep()
            case RunSuspended() | RunCompleted():
                self._next_superstep()
            case _:
                pass

    def _ran(self, record: EventRecord) -> None:
        if record.node_id is None:
            return
        self.done.add(record.node_id)
        self.failed.discard(record.node_id)
        self._reached(record.node_id)
        self._present.add(record.node_id)

    def _reached(self, node_id: str | None) -> None:
        if node_id is not None:
            self._followed.update((earlier, node_id) for earlier in self._earlier)
            self._straight.update((last, node_id) for last in self._last)

    def _next_superstep(self) -> None:
        self._earlier |= self._present
        self._last = self._present or self._last
        self._present = set()

"""Where a thread's run stands: an immutable value (R1.32-R1.34).

What is made for every superstep is a `Value`: as immutable as a frozen dataclass, and made in a tenth of its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, final

from ..checkpoint import Value
from ._config import BreakpointPhase
from ._plan import Plan
from ._state import Slots, ThreadState


class JoinSlot(Value, frozen=True):
    """Where a fan-out's child is counted: the dynamic join and the task that fanned out."""

    join_id: str
    fan_out_task: str


class Origin(Value, frozen=True):
    """The task and node a continuation stands for at joins (R3.13)."""

    task_id: str
    node_id: str


@final
class BoundSend(Value, frozen=True):
    """A checked route to one task; `payload` is JSON text."""

    node: str
    payload: bytes


@final
class BoundFanOut(Value, frozen=True):
    """A checked fan-out; `payloads` are JSON texts."""

    join: str
    node: str
    payloads: tuple[bytes, ...]


BoundRoute: TypeAlias = BoundSend | BoundFanOut


class Task(Value, frozen=True):
    """One call of one node that is due. `passed` and `replay` exist for breakpoints only (R1.33)."""

    id: str
    node: str
    input: bytes
    slot: JoinSlot | None = None
    origin: Origin | None = None
    passed: bool = False
    replay: tuple[BoundRoute, ...] | None = None

    @property
    def stands_for(self) -> Origin:
        """What its arrival counts as."""
        return self.origin or Origin(self.id, self.node)


class Parked(Value, frozen=True):
    """Something that waits for a person (R1.34).

    `node` continues it. A typed question has no `phase`; `data` is then the question, for Before the held task's input,
    for After JSON null, with the withheld `routes` beside it.
    """

    id: str
    node: str
    data: bytes
    origin: Origin
    slot: JoinSlot | None = None
    phase: BreakpointPhase | None = None
    routes: tuple[BoundRoute, ...] = ()


class Activation(Value, frozen=True):
    """One open fan-out of a dynamic join: the children it waits for and those that arrived (R3.11)."""

    join_id: str
    fan_out_task: str
    expected: tuple[str, ...]
    arrived: frozenset[str] = frozenset()


class Execution(Value, frozen=True, gc=True, eq=False):
    """Superstep number, state, frontier, joins and what is parked. Belongs to the graph object that made it (R1.32).

    What it holds is shared with the executions before and after it, and never changed.
    """

    plan: Plan
    superstep: int
    slots: Slots
    frontier: tuple[Task, ...]
    arrivals: Mapping[str, frozenset[str]]
    activations: Mapping[str, Activation]
    parked: dict[str, Parked]
    paused: bool = False

    @property
    def state(self) -> ThreadState:
        """The committed state; a view of the caller's own."""
        return ThreadState(self.plan.keys, self.slots)

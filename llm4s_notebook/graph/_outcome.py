"""How a task ended, after its result was checked (R3.3), and how a run hands back: completed or waiting."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from ..checkpoint import Value
from ._codec import decode_json
from ._config import BreakpointPhase
from ._execution import BoundRoute, Execution, Parked, Task
from ._state import ThreadState, Write

Out = TypeVar("Out")


class Ending(StrEnum):
    """How one task of a superstep ended."""

    COMPLETED = auto()
    SUSPENDED = auto()
    BLOCKED = auto()
    HELD = auto()
    FAILED = auto()
    CANCELLED = auto()


COMPLETED: Final = Ending.COMPLETED
SUSPENDED: Final = Ending.SUSPENDED
BLOCKED: Final = Ending.BLOCKED
FAILED: Final = Ending.FAILED
CANCELLED: Final = Ending.CANCELLED
HELD: Final = Ending.HELD
"""The same, for what every task passes through: to look a member up in its enumeration takes twice the time of a name."""


class TaskResult(Value, frozen=True, gc=True):
    """One task's checked result. `recorded` when it was taken from a pending write and not run (R8.10)."""

    task: Task
    ending: Ending
    writes: tuple[Write, ...] = ()
    routes: tuple[BoundRoute, ...] = ()
    resume_at: str = ""
    question: bytes = b""
    error: BaseException | None = None
    emitted: tuple[tuple[str, int, Any], ...] = ()
    recorded: bool = False


class PendingInterrupt(Value, frozen=True, gc=True):
    """One thing a run waits for (R4.5): its id, the node that will continue it, the question as JSON, and the phase of a breakpoint."""

    id: str
    resume_node: str
    question: Any
    breakpoint: BreakpointPhase | None = None

    @classmethod
    def of(cls, parked: Parked) -> PendingInterrupt:
        return cls(parked.id, parked.node, decode_json(parked.data), parked.phase)


@dataclass(frozen=True, slots=True)
class Completed(Generic[Out]):
    """A run that finished; `superstep` is cumulative for the thread (R3.17)."""

    output: Out
    state: ThreadState
    superstep: int


@dataclass(frozen=True, eq=False)
class Suspended:
    """A run that waits: everything parked, in the order it was parked (R4.4). `execution` is for in-memory use."""

    execution: Execution

    @cached_property
    def interrupts(self) -> tuple[PendingInterrupt, ...]:
        """Older unanswered ones first."""
        return tuple([PendingInterrupt.of(parked) for parked in self.execution.parked.values()])

    @property
    def state(self) -> ThreadState:
        """The committed state."""
        return self.execution.state

    def __repr__(self) -> str:
        return f"Suspended({', '.join(self.execution.parked)})"

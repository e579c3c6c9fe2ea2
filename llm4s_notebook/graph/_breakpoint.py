"""What is held, on which side of its node's call, and for whom it is not held again (section 5). Pure."""

from __future__ import annotations

from ..errors import ConfigError
from ._codec import NULL
from ._config import BreakpointPhase, RunConfig
from ._execution import Parked, Task
from ._outcome import TaskResult
from ._plan import Plan


def check_breakpoints(plan: Plan, config: RunConfig) -> None:
    """Raises: ConfigError (field `breakpoints`) listing every node the graph does not have (R5.4)."""
    if not config.interrupt_before and not config.interrupt_after:
        return
    problems = [
        f"{name} names node '{node}', which graph '{plan.id}' does not have"
        for name, nodes in (("interrupt_before", config.interrupt_before), ("interrupt_after", config.interrupt_after))
        for node in sorted(nodes)
        if node not in plan.nodes
    ]
    if problems:
        raise ConfigError(field="breakpoints", problems=problems)


def held_before(task: Task, config: RunConfig) -> bool:
    """True when the task must not start: its node is listed, it was not let through before (R5.10), and it does not replay (R5.19)."""
    return task.node in config.interrupt_before and not task.passed and task.replay is None


def held_after(result: TaskResult, config: RunConfig) -> bool:
    """True when what a completed task would set in motion is withheld (R5.12, R5.14, R5.19)."""
    return result.task.node in config.interrupt_after and result.task.replay is None


def park_before(task: Task) -> Parked:
    """The interrupt of a task held before it ran; its question is the task's input (R5.8)."""
    return Parked(task.id, task.node, task.input, task.stands_for, task.slot, BreakpointPhase.BEFORE)


def park_after(result: TaskResult) -> Parked:
    """The interrupt of a task held after it ran; its routes wait with it (R5.13)."""
    task = result.task
    return Parked(task.id, task.node, NULL, task.stands_for, task.slot, BreakpointPhase.AFTER, result.routes)


def let_through(parked: Parked, task_id: str) -> Task:
    """The continuation of a held task: run once, unheld (R5.10), or the withheld routes replayed (R5.16)."""
    if parked.phase is BreakpointPhase.BEFORE:
        return Task(task_id, parked.node, parked.data, parked.slot, parked.origin, passed=True)
    return Task(task_id, parked.node, NULL, parked.slot, parked.origin, replay=parked.routes)

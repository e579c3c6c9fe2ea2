"""Any order of completion gives the same execution; and what checks it catches a frontier that is not so (R3.2, R3.4, R3.7)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from llm4s_notebook.graph._outcome import Ending, TaskResult
from llm4s_notebook.graph._superstep import Superstep

from .frontier import FrontierContract, FrontierMachine


def run_machine(*phases: Phase) -> None:
    run_state_machine_as_test(
        FrontierMachine,
        settings=settings(
            max_examples=200,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


class TestFrontier(FrontierContract):
    """The runtime's own."""

    def test_random_supersteps_are_the_same_in_any_order(self) -> None:
        """R3.2, R3.4, R3.7, R4.4: with questions, answers to any part, holds on both sides, fan-outs and both joins."""
        run_machine(Phase.generate, Phase.shrink)


def as_completed(superstep: Superstep) -> list[TaskResult]:
    """Planted: results as they came."""
    return list(superstep.results.values())


def asked_as_completed(superstep: Superstep) -> list[TaskResult]:
    """Planted: only those that ask are taken as they came; everybody else keeps its place."""
    asking = iter([one for one in superstep.results.values() if one.ending is Ending.SUSPENDED])
    placed = [superstep.results[task.id] for task in superstep.execution.frontier if task.id in superstep.results]
    return [next(asking) if one.ending is Ending.SUSPENDED else one for one in placed]


@pytest.mark.parametrize("fault", [as_completed, asked_as_completed])
def test_a_planted_frontier_is_caught_by_contract_and_machine(
    fault: Callable[[Superstep], list[TaskResult]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two on its own, within the examples that the real one is given."""
    monkeypatch.setattr(Superstep, "ordered", fault)
    caught: list[str] = []
    for name, test in inspect.getmembers(FrontierContract(), inspect.iscoroutinefunction):
        if name.startswith("test_"):
            try:
                asyncio.run(test())
            except AssertionError:
                caught.append(name)
    assert caught
    with pytest.raises((AssertionError, BaseExceptionGroup)):
        run_machine(Phase.generate)

"""What one run is told, and what it cannot be told (R1.30, R1.31)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.graph import Durability, RunBudgets, RunConfig


def test_a_durability_may_be_given_by_its_name():
    """api.md: a StrEnum; a name that was taken as it is would mean SYNC without a word."""
    given: Any = "async"
    assert RunConfig(durability=given).durability is Durability.ASYNC


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"durability": "sometimes"}, "durability is 'sometimes'"),
        ({"interrupt_before": 5}, "breakpoints are node ids"),
        ({"interrupt_after": None}, "breakpoints are node ids"),
        ({"interrupt_before": [5]}, "interrupt_before names 5"),
        ({"run_id": 5}, "run_id is a text, not 5"),
        ({"run_id": "half \ud83d"}, "run_id is no Unicode text"),
        ({"principal": ["ana"]}, "principal is a text"),
    ],
)
def test_a_setting_of_another_type_is_refused_by_name(setting: dict[str, Any], problem: str):
    """D2: before any thread is touched."""
    with pytest.raises(ConfigError, match=problem):
        RunConfig(**setting)


def test_budgets_have_defaults_and_refuse_what_is_not_positive() -> None:
    """BUD-06, R1.31."""
    default = RunBudgets()
    assert (default.max_supersteps, default.timeout, default.max_concurrency) == (1000, None, 16)
    for bad in ({"max_supersteps": 0}, {"max_concurrency": -1}, {"timeout": 0.0}, {"timeout": -1.0}):
        with pytest.raises(ConfigError) as caught:
            RunBudgets(**bad)  # type: ignore[arg-type]
        assert caught.value.field == "budgets"
    with pytest.raises(ConfigError) as caught:
        RunBudgets(max_supersteps=0, max_concurrency=0, timeout=-1)
    assert len(caught.value.problems) == 3

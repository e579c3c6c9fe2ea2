"""What one run is told, and what it cannot be told (R1.30, R1.31)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.graph import ClaimPolicy, Durability, RunBudgets, RunConfig


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
        ({"run_id": "half \ud83d"}, "run_id holds half a character, at position 5"),
        ({"principal": ["ana"]}, "principal is a text"),
        ({"budgets": 5}, "budgets is 5"),
        ({"metadata": ["a"]}, "metadata is"),
    ],
)
def test_a_setting_of_another_type_is_refused_by_name(setting: dict[str, Any], problem: str):
    """D2: before any thread is touched."""
    with pytest.raises(ConfigError, match=problem):
        RunConfig(**setting)


def test_budgets_have_defaults_and_refuse_what_is_not_positive() -> None:
    """BUD-06, R1.31: each by its name, all of them together."""
    default = RunBudgets()
    assert (default.max_supersteps, default.timeout, default.max_concurrency) == (1000, None, 16)
    for name, values in {
        "max_supersteps": [0, -1, None, 1.5, "3", True],
        "max_concurrency": [0, -1, None, 1.5, "3", True],
        "timeout": [0, 0.0, -1.0, float("nan"), "3", True],
    }.items():
        for value in values:
            with pytest.raises(ConfigError) as caught:
                RunBudgets(**{name: value})  # type: ignore[arg-type]
            (problem,) = caught.value.problems
            assert (caught.value.field, problem.partition(" ")[0]) == ("budgets", name)
    with pytest.raises(ConfigError) as caught:
        RunBudgets(max_supersteps=0, max_concurrency=0, timeout=-1)
    assert len(caught.value.problems) == 3


def test_a_lease_is_renewed_before_it_ends() -> None:
    """R6.24: 30 seconds, renewed every 10; a policy under which it would run out is refused."""
    assert (ClaimPolicy().ttl, ClaimPolicy().renew_every) == (30.0, 10.0)
    for bad in ({"ttl": 0}, {"renew_every": 0}, {"renew_every": 30}, {"renew_every": -1, "ttl": -2}, {"ttl": "30"}, {"renew_every": None}):
        with pytest.raises(ConfigError) as caught:
            ClaimPolicy(**bad)  # type: ignore[arg-type]
        assert caught.value.field == "claims"


def test_one_node_id_stands_for_the_set_of_it() -> None:
    """R1.30: and whatever holds several is kept as a set that nobody changes."""
    given = ["a", "b", "a"]
    config = RunConfig(interrupt_before="whole", interrupt_after=given)  # type: ignore[arg-type]
    given.append("c")
    assert (config.interrupt_before, config.interrupt_after) == ({"whole"}, {"a", "b"})

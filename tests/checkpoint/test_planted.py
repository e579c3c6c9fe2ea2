"""The contract of every store and its state machine prove themselves: each catches each planted fault, on its own."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.testing._checkpointer_machine import CheckpointerMachine

from . import planted

MACHINE = "test_random_operations_have_the_same_answers_as_a_dict"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Counter[str], Counter[str]]:
    """The contract's tests without the machine, run on each store: how many there were and how many failed, by class."""
    report = tmp_path_factory.mktemp("planted") / "report.xml"
    file = Path(planted.__file__)
    command = [sys.executable, "-m", "pytest", str(file), "-q", "-k", f"not {MACHINE}", f"--junitxml={report}", "-p", "no:cacheprovider"]
    subprocess.run(command, cwd=file.parents[2], check=False, stdout=subprocess.DEVNULL)
    ran, failed = Counter[str](), Counter[str]()
    for case in xml.parse(report).iter("testcase"):
        kind = case.attrib["classname"].rpartition(".")[2]
        ran[kind] += 1
        failed[kind] += case.find("failure") is not None
        assert case.find("error") is None, case.attrib
    return ran, failed


@pytest.mark.parametrize("kind", planted.PLANTED)
def test_the_contract_catches_a_planted_fault(told: tuple[Counter[str], Counter[str]], kind: type) -> None:
    """6.2, R6.18-R6.21: at least one of its tests fails, and not all of them."""
    ran, failed = told
    assert ran[f"Test{kind.__name__}"] == ran["TestNoFault"]
    assert 1 <= failed[f"Test{kind.__name__}"] < ran["TestNoFault"]


def test_the_contract_finds_nothing_where_nothing_is_planted(told: tuple[Counter[str], Counter[str]]) -> None:
    """The same tests on the same store without a fault."""
    ran, failed = told
    assert ran["TestNoFault"] >= 50
    assert failed["TestNoFault"] == 0


def run_machine(kind: type[InMemoryCheckpointer]) -> None:
    class Machine(CheckpointerMachine):
        def __init__(self) -> None:
            super().__init__(lambda clock: kind(clock=clock))

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=200,
            stateful_step_count=30,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("kind", planted.PLANTED)
def test_the_machine_catches_a_planted_fault(kind: type[InMemoryCheckpointer]) -> None:
    """R6.9, R6.10, R6.19: within the examples that every store is given."""
    with pytest.raises((AssertionError, BaseExceptionGroup, pytest.fail.Exception)):
        run_machine(kind)

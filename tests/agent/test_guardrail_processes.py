"""A refused text that waits for a review, answered by processes that did not ask (2.4.7, 6.2, F18)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import guarded

MODULE = Path(__file__).with_name("guarded.py")
Step = Callable[[str], Any]


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """One process from start to end, and what it told."""

    def run(command: str) -> Any:
        made = subprocess.run(
            [sys.executable, str(MODULE), command, str(tmp_path / "threads.db"), str(tmp_path / "notes")],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return json.loads(made.stdout.strip().splitlines()[-1])

    return run


def test_verdicts_on_query_and_answer_are_given_by_other_processes(step: Step, tmp_path: Path):
    """6.2.3, 6.2.4, 6.2.9: no judge is asked again about a text with a verdict, whichever process goes on."""
    first = step("run")
    assert first["reviews"] == [["Input", "query", f"said {first['pid']}", "a query that is refused"]]
    assert first["messages"] == 0
    assert step("look")["reviews"] == first["reviews"]
    second = step("allow")
    assert second["reviews"] == [["Output", "answer", f"said {second['pid']}", guarded.ANSWER]]
    assert second["messages"] == 2
    third = step("edit")
    assert third["status"] == "COMPLETED(edited)"
    assert len({first["pid"], second["pid"], third["pid"]}) == 3
    assert (tmp_path / "notes").read_text().splitlines() == ["query: a query that is refused", f"answer: {guarded.ANSWER}"]


def test_a_block_by_another_process_reports_what_the_first_one_asked_about(step: Step, tmp_path: Path):
    """6.2.3, 6.1.4: the reason of the question, not a new one; and nothing of the text stays in the file."""
    first = step("run")
    blocked = step("block")
    assert blocked["status"] == f"BLOCKED(query: said {first['pid']})"
    assert blocked["messages"] == 0
    assert b"a query that is refused" not in b"".join(path.read_bytes() for path in tmp_path.glob("threads.db*"))
    assert (tmp_path / "notes").read_text().splitlines() == ["query: a query that is refused"]

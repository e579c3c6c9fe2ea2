"""Verdicts in the decision log: before they count, taken up by the next process, line by line (T2.5)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import GuardrailPhase, GuardrailVerdict
from llm4s_notebook.errors import StoreUnavailable
from llm4s_notebook.review import DecisionLog, TextSession
from llm4s_notebook.testing import ManualClock

from .browser import Browser
from .support import PROMISES, checked

OTHER_PROCESS = """
import asyncio, sys
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.review import DecisionLog, TextSession

async def main():
    session = TextSession(["it is guaranteed", "guaranteed \\u202e"], [WordList(["guaranteed"])], decisions=DecisionLog(sys.argv[1]))
    await session.run()
    print([(given.mark, given.verdict.text, given.note, given.by) for given in session.verdicts.values()], session.left)
    session.decide(1, "block")

asyncio.run(main())
"""


def lines(log: DecisionLog) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.path.read_text(encoding="utf-8").splitlines()]


async def test_another_process_takes_the_verdicts_up_and_adds_its_own(tmp_path: Path) -> None:
    """T2.5: a day's work outlives the kernel."""
    log = DecisionLog(tmp_path / "verdicts.jsonl")
    first = await checked(["it is guaranteed"], PROMISES, decisions=log, principal="rita")
    first.decide(0, GuardrailVerdict.edit("we hope"), note="softer")
    command = [sys.executable, "-c", OTHER_PROCESS, str(log.path)]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[('edit', 'we hope', 'softer', 'rita')] 1\n", "")
    again = await checked(["it is guaranteed", "guaranteed \u202e"], PROMISES, decisions=log)
    assert [given.mark for given in again.verdicts.values()] == ["edit", "block"]


async def test_a_line_says_what_was_shown_what_was_answered_and_how_long_it_took(tmp_path: Path) -> None:
    """T2.5: the seconds are from the text's being opened."""
    clock = ManualClock()
    log = DecisionLog(tmp_path / "verdicts.jsonl", clock=clock)
    session = await checked(["guaranteed"], PROMISES, decisions=log, principal="rita", clock=clock)
    browser = Browser(session)
    await browser.ask(kind="open", position=0)
    clock.advance(4)
    await browser.decide(0, "allow", note="a quote")
    session.decide(0, "block")
    first, second = lines(log)
    shown = {"phase": "Output", "guardrail": "no promises", "reason": "inappropriate content: guaranteed", "text": "guaranteed"}
    assert (first["kind"], first["who"], first["shown"], first["seconds"]) == ("TEXT_REVIEW", "rita", shown, 4)
    assert first["answered"] == {"verdict": "allow", "text": None, "note": "a quote"}
    assert (second["answered"]["verdict"], second["seconds"]) == ("block", None)
    assert first["interrupt_id"] == second["interrupt_id"]


async def test_taking_back_is_a_line_too(tmp_path: Path) -> None:
    """T2.5: else a verdict that was taken back would return with the next kernel."""
    log = DecisionLog(tmp_path / "verdicts.jsonl")
    session = await checked(["guaranteed", "guaranteed too"], PROMISES, decisions=log)
    for verdict in ("allow", "block"):
        session.decide(0, verdict)  # type: ignore[arg-type]
    session.decide(1, "block")
    session.undo()
    session.undo()
    again = await checked(["guaranteed", "guaranteed too"], PROMISES, decisions=log)
    assert {text: given.mark for text, given in again.verdicts.items()} == {"guaranteed": "allow"}
    assert [line["answered"]["verdict"] for line in lines(log)] == ["allow", "block", "block", "undecided", "allow"]


async def test_verdicts_of_another_phase_and_lines_of_other_kinds_are_left_alone(tmp_path: Path) -> None:
    """T2.5, T2.1: one file may hold a session's decisions and verdicts of both phases."""
    log = DecisionLog(tmp_path / "verdicts.jsonl")
    given: dict[str, Any] = {"thread_id": "t", "interrupt_id": "1.0", "who": None, "seconds": None}
    log.record(**given, kind="APPROVAL", shown={"tool_name": "deploy"}, answered={"decision": "approve"})
    log.record(**given, kind="TEXT_REVIEW", shown={"strange": True}, answered=3)
    asked = await checked(["guaranteed"], PROMISES, decisions=log, phase=GuardrailPhase.INPUT)
    asked.decide(0, "block")
    answer = await checked(["guaranteed"], PROMISES, decisions=log)
    assert answer.verdicts == {}
    assert len((await checked(["guaranteed"], PROMISES, decisions=log, phase=GuardrailPhase.INPUT)).verdicts) == 1


async def test_a_blocked_text_of_the_log_that_passes_is_shown_as_such(tmp_path: Path) -> None:
    """T2.2: without any earlier run in this kernel."""
    log = DecisionLog(tmp_path / "verdicts.jsonl")
    (await checked(["guaranteed"], PROMISES, decisions=log)).decide(0, "block")
    session = TextSession(["guaranteed"], [], decisions=log)
    assert session.state().counts.missed == 0  # not checked yet
    await session.run()
    assert session.state().counts.missed == 1


async def test_a_verdict_that_cannot_be_written_does_not_count(tmp_path: Path) -> None:
    """T2.5: on disk before it counts; nor does taking one back."""
    log = DecisionLog(tmp_path / "verdicts.jsonl")
    session = await checked(["guaranteed", "guaranteed too"], PROMISES, decisions=log)
    session.decide(0, "allow")
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(StoreUnavailable):
        session.decide(1, "block")
    with pytest.raises(StoreUnavailable):
        session.undo()
    assert {text: given.mark for text, given in session.verdicts.items()} == {"guaranteed": "allow"}
    log.path.rmdir()
    session.decide(1, "block")
    assert session.left == 0

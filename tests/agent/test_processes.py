"""One thread, several processes: suspended in one, continued in another, killed in between (2.4.7, D8, D13)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import InterruptKind
from llm4s_notebook.checkpoint import SqliteCheckpointer

from . import release

MODULE = Path(__file__).with_name("release.py")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Processes of this module share compiled code, whatever the test session's own settings are."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(tmp_path_factory.mktemp("pycache"))}


@dataclass(frozen=True)
class Desk:
    """One folder with a thread's file and the notes of what ran, and the processes that work on it."""

    folder: Path
    environment: dict[str, str]

    def start(self, command: str) -> subprocess.Popen[str]:
        """A process that does one step."""
        return subprocess.Popen(
            [sys.executable, str(MODULE), command, str(self.folder / "threads.db"), str(self.folder / "notes")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )

    def step(self, command: str) -> Any:
        """One process from start to end; what it told."""
        process = self.start(command)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return json.loads(out.strip().splitlines()[-1])

    def notes(self) -> list[str]:
        """What the tools really did."""
        path = self.folder / "notes"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def desk(tmp_path: Path, environment: dict[str, str]) -> Desk:
    return Desk(tmp_path, environment)


def line(process: subprocess.Popen[str]) -> str:
    """The next line a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_every_kind_is_answered_by_a_process_that_did_not_ask(desk: Desk):
    """SUS-25, 2.4.7: a middleware question, a breakpoint, an approval and a tool question, each in a process of its own."""
    first = desk.step("run")
    assert [one.partition(" ")[0] for one in first["pending"]] == ["PendingReview(MIDDLEWARE_QUESTION"]
    assert first["pending"] == desk.step("look")["pending"]
    second = desk.step("resume")
    assert [one.partition(" ")[0] for one in second["pending"]] == ["PendingReview(BREAKPOINT"]
    third = desk.step("resume")
    assert [one.partition(" ")[0] for one in third["pending"]] == ["PendingReview(APPROVAL", "PendingReview(QUESTION"]
    assert desk.notes() == ["look v1"]
    fourth = desk.step("resume")
    assert [one.partition(" ")[0] for one in fourth["pending"]] == ["PendingReview(BREAKPOINT"]
    done = desk.step("resume")
    assert done["answer"] == "deployed v1; really v1? True; saw v1"
    assert [one.split()[0] for one in desk.notes()] == ["look", "deploy"]
    assert len({first["pid"], second["pid"], third["pid"], fourth["pid"], done["pid"]}) == 5


def test_a_process_killed_right_after_it_told_what_waits_loses_nothing(desk: Desk):
    """2.4.7: the pause was durable before anybody saw it; resuming is admitted at once."""
    process = desk.start("killed")
    told = json.loads(line(process))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert desk.step("look")["pending"] == told["pending"]
    assert desk.step("resume")["pending"]


async def test_a_process_killed_inside_an_approved_tool_is_recovered_without_asking_again(desk: Desk):
    """2.4.8, D8, D13, R8.12: the dead process's claim is replaced at once; the call runs again under the same key, its sibling does not."""
    async with SqliteCheckpointer(desk.folder / "threads.db") as store:
        made = release.agent(store, desk.folder / "notes")
        result = await made.run("release", thread_id="t")
        for _ in range(2):
            result = await made.resume("t", [release.answer(review) for review in result.pending])
        await made.runtime.aclose()
    process = desk.start("slow")
    assert await asyncio.to_thread(line, process) == "deploying"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    async with SqliteCheckpointer(desk.folder / "threads.db") as store:
        made = release.agent(store, desk.folder / "notes")
        recovered = await made.recover("t")
        assert [review.kind for review in recovered.pending] == [InterruptKind.BREAKPOINT]
        done = await made.resume("t", [release.answer(review) for review in recovered.pending])
        await made.runtime.aclose()
    assert done.answer == "deployed v1; really v1? True; saw v1"
    ran = desk.notes()
    assert [one.split()[0] for one in ran] == ["look", "deploy", "deploy"]
    assert ran[1] == ran[2]

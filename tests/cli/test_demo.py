"""``python -m llm4s_notebook demo``: what it prints is read off the turn, and the turn is really in the file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import run_command
from llm4s_notebook._cli import _demo, main
from llm4s_notebook._cli._demo import play
from llm4s_notebook.agent import Agent, AgentNode, Answer, Completed, InterruptKind, NeedsApproval, PendingReview, ToolContext, tool
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.examples.release import QUERY, ChooseWindow, release_agent, reviewer
from llm4s_notebook.models import ScriptedClient

READ_BACK = """
import asyncio, json, sys
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.examples.release import release_agent, script

async def read():
    async with SqliteCheckpointer(sys.argv[1]) as store:
        result = await release_agent(script(), store).result(sys.argv[2])
        print(json.dumps([result.answer, [type(message).__name__ for message in result.messages]]))

asyncio.run(read())
"""


def test_the_demo_plays_all_four_kinds_to_an_answer(tmp_path: Path) -> None:
    """Each kind of wait is shown and answered, the end is the reviewed answer."""
    done = run_command(tmp_path, "demo", "--db", "demo.db")
    assert done.returncode == 0, done.stderr
    for kind in ("APPROVAL", "QUESTION", "MIDDLEWARE_QUESTION", "BREAKPOINT"):
        assert f"PendingReview({kind} " in done.stdout
    assert str(tmp_path / "demo.db") in done.stdout
    [answer] = re.findall(r"^answer: (.*)$", done.stdout, re.MULTILINE)
    assert "version 1.4.0 runs in production" in answer
    assert "guaranteed" not in answer  # the reviewer's edit, not the model's text
    assert done.stderr == ""


def test_another_process_reads_the_turn_from_the_file_that_was_named(tmp_path: Path) -> None:
    """The file holds the finished turn: an agent of the same settings gets the same answer out of it."""
    done = run_command(tmp_path, "demo")
    found = re.search(r"The turn lives in (\S+), thread (\S+)\.", done.stdout)
    assert found is not None, done.stdout + done.stderr
    file, thread_id = found.groups()
    assert Path(file) == tmp_path / "llm4s-demo.db"
    read = subprocess.run([sys.executable, "-c", READ_BACK, file, thread_id], capture_output=True, text=True, timeout=120)
    assert read.returncode == 0, read.stderr
    answer, messages = json.loads(read.stdout)
    assert f"answer: {answer}\n" in done.stdout
    assert messages == ["UserMessage", "AssistantMessage", "ToolMessage", "ToolMessage", "AssistantMessage"]


async def test_what_waits_is_printed_in_the_words_of_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that was answered had been shown as its own text, and the answer stands below it as it was given."""
    answered: list[tuple[PendingReview, Answer]] = []

    def recorded(pending: PendingReview) -> Answer:
        answered.append((pending, reviewer(pending)))
        return answered[-1][1]

    monkeypatch.setattr(_demo, "reviewer", recorded)
    result = await play(tmp_path / "demo.db", held)
    printed = " ".join(capsys.readouterr().out.split())
    assert {pending.kind for pending, _ in answered} == set(InterruptKind)
    for pending, answer in answered:
        _, shown, after = printed.partition(" ".join(str(pending).split()))
        assert shown, str(pending)
        assert f"answered {answer.id}: {json.dumps(answer.value)}" in after
    assert isinstance(result.status, Completed)
    assert f"answer: {result.status.answer}" in printed


async def test_the_text_changes_when_the_agents_tool_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing about the turn is written in the demo itself."""

    @tool(name="deploy")
    async def deploy(environment: str, version: str, context: ToolContext) -> str | NeedsApproval:
        """Another tool of the same name."""
        return f"the owner launched {version}" if context.approved else NeedsApproval("only the owner may launch")

    def changed(client: ScriptedClient, store: Checkpointer) -> Agent:
        return held(client, store).with_(tools=[ChooseWindow(), deploy])

    await play(tmp_path / "before.db", held)
    before = capsys.readouterr().out
    await play(tmp_path / "after.db", changed)
    after = capsys.readouterr().out
    for text in ("only the owner may launch", "the owner launched 1.4.0"):
        assert text in after
        assert text not in before
    for text in ("would reach every customer", "runs in production"):
        assert text in before
        assert text not in after


def held(client: ScriptedClient, store: Checkpointer) -> Agent:
    return release_agent(client, store, interrupt_after=[AgentNode.MODEL])


async def test_what_the_model_saw_is_what_the_client_was_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last request is printed message by message: the completed query, both calls and both results."""
    await play(tmp_path / "demo.db", held)
    seen = capsys.readouterr().out.partition("the last time it saw:")[2]
    assert [line.split()[0] for line in seen.splitlines() if re.match(r"  \w", line)] == ["system", "user", "assistant", "tool", "tool"]
    assert f"{QUERY} (region eu)" in seen
    assert 'choose_window({"version": "1.4.0"})' in seen


def test_a_second_demo_on_one_file_is_another_thread(tmp_path: Path) -> None:
    """The file is taken up as it is, and nothing of the first turn is in the way."""
    threads = set()
    for _ in range(2):
        done = run_command(tmp_path, "demo")
        assert done.returncode == 0, done.stderr
        threads |= set(re.findall(r"thread (\S+)\.", done.stdout))
    assert len(threads) == 2


def test_a_file_that_is_no_database_is_refused_in_three_lines_and_left_alone(tmp_path: Path) -> None:
    """What, where, what next; exit code 1; not a byte of the file is changed."""
    (tmp_path / "notes.txt").write_text("my notes\n" * 100)
    done = run_command(tmp_path, "demo", "--db", "notes.txt")
    assert done.returncode == 1
    assert done.stderr.startswith("StoreUnavailable: ")
    assert done.stderr.count("\n") == 3
    assert "notes.txt" in done.stderr
    assert (tmp_path / "notes.txt").read_text() == "my notes\n" * 100


def test_a_folder_that_does_not_exist_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    """The person mistyped a path; nothing is made."""
    done = run_command(tmp_path, "demo", "--db", "nowhere/demo.db")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "nowhere").exists()


def test_an_interrupt_ends_it_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C is no error of ours: exit code 130 as shells have it, no traceback."""

    def interrupted(db: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_demo, "demo", interrupted)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == "\ninterrupted\n"

"""Two processes on one file: killed ones lose nothing, racing ones answer once (issue's kill and race tests, D8, R6.22-R6.26, R8.12)."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import IncompleteRun, InvalidResume, NotSuspended
from llm4s_notebook.graph import GraphRuntime, Suspended

from .graphs import ids, names, output
from .process import graph_of, race

ROUNDS = 200


def child(what: str, path: Path, lines: Path, announced: str) -> int:
    """Start a child, kill it with SIGKILL as soon as it has announced; its exit code."""
    command = [sys.executable, "-m", "tests.graph.process", what, str(path), str(lines)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == announced
        os.kill(process.pid, signal.SIGKILL)
        return process.wait()


async def test_a_process_killed_right_after_the_pause_was_announced_loses_nothing(tmp_path: Path) -> None:
    """R4.6, R5.43, R8.12: admitted at once by a second process, which runs only what was not run."""
    path, lines = tmp_path / "t.db", tmp_path / "lines"
    code = await asyncio.to_thread(child, "pause", path, lines, "PAUSED")
    assert code == -signal.SIGKILL
    store = SqliteCheckpointer(path)
    runtime = GraphRuntime(store)
    graph = graph_of(lines)
    pending = await runtime.pending("t", graph)
    assert isinstance(pending, Suspended)
    assert (ids(pending), pending.interrupts[0].question) == (["0.0"], "child")
    assert output(await (await runtime.resume("t", graph, {"0.0": "yes"}))) == ["asked child", "child=yes", "after"]
    assert lines.read_text().splitlines() == ["start child", "answered child", "after"]
    await store.aclose()


async def test_a_process_killed_while_a_task_ran_is_recovered_at_once(tmp_path: Path) -> None:
    """D8, R4.15, R8.10-R8.12: its claim is replaced without waiting for the lease; the answer is not asked for again."""
    path, lines = tmp_path / "t.db", tmp_path / "lines"
    code = await asyncio.to_thread(child, "wait", path, lines, "WAITING")
    assert code == -signal.SIGKILL
    (tmp_path / "go").touch()
    store = SqliteCheckpointer(path)
    runtime = GraphRuntime(store)
    graph = graph_of(lines)
    assert (await store.head("t")).status is CheckpointStatus.RUNNING
    with pytest.raises(NotSuspended):
        await runtime.resume("t", graph, {"0.0": "again"})
    with pytest.raises(IncompleteRun):
        await runtime.start("t", graph, "x")
    assert output(await (await runtime.recover("t", graph))) == ["asked child", "child=wait", "after"]
    assert lines.read_text().splitlines() == ["start child", "answered child", "after", "after"]
    told = await names(store)
    assert told[-1] == "RunCompleted"
    assert "RunRecovered" in told
    await store.aclose()


async def test_two_processes_answer_the_same_id_and_exactly_one_runs_it(tmp_path: Path) -> None:
    """F41, R4.20, R6.22, R6.23: 200 rounds behind a barrier; one line a round, one winner, and the loser gets a refusal."""
    path, lines = tmp_path / "t.db", tmp_path / "lines"
    store = SqliteCheckpointer(path, synchronous="normal")
    runtime = GraphRuntime(store)
    graph = graph_of(lines)
    for number in range(ROUNDS):
        assert ids(await runtime.run(f"t{number}", graph, f"{number}")) == ["0.0"]
    spawn = multiprocessing.get_context("spawn")
    barrier, results = spawn.Barrier(2), spawn.Queue()
    racers = [spawn.Process(target=race, args=(str(path), str(lines), barrier, ROUNDS, results, name), daemon=True) for name in ("a", "b")]
    for racer in racers:
        racer.start()
    told = dict([await asyncio.to_thread(results.get, True, 60) for _ in racers])
    for racer in racers:
        await asyncio.to_thread(racer.join)
    refusals = {"ThreadBusy", "NotSuspended", "InvalidResume answered"}
    for number, round_ in enumerate(zip(told["a"], told["b"], strict=True)):
        assert sorted(one == "won" for one in round_) == [False, True], (number, round_)
        assert next(one for one in round_ if one != "won") in refusals, (number, round_)
    ran = Counter(lines.read_text().splitlines())
    assert {name: count for name, count in ran.items() if name.startswith("answered")} == {f"answered {n}": 1 for n in range(ROUNDS)}
    assert ran["after"] == ROUNDS
    winners = {told_[number] and name for number in range(ROUNDS) for name, told_ in told.items() if told_[number] == "won"}
    assert winners <= {"a", "b"}
    for number in range(0, ROUNDS, 20):
        winner = "a" if told["a"][number] == "won" else "b"
        latest = await store.latest(f"t{number}")
        assert latest is not None
        assert graph.restore(latest.checkpoint).state[graph.keys[0]] == [f"asked {number}", f"{number}={winner}", "after"]
    await store.aclose()


async def test_a_loser_that_comes_late_is_told_that_the_id_was_answered(tmp_path: Path) -> None:
    """F41: when the winner's turn waits again, by whom and when."""
    path, lines = tmp_path / "t.db", tmp_path / "lines"
    first, second = (GraphRuntime(SqliteCheckpointer(path)) for _ in range(2))
    graph = graph_of(lines)
    await first.run("t", graph, "one")
    await (await first.resume("t", graph, {"0.0": "yes"}))
    held = await first.run("t", graph, "two")
    with pytest.raises(InvalidResume) as caught:
        await second.resume("t", graph, {"0.0": "late"})
    assert [problem.code for problem in caught.value.problems] == ["answered"]
    assert ids(await second.pending("t", graph)) == ids(held)
    for runtime in (first, second):
        await runtime.checkpointer.aclose()

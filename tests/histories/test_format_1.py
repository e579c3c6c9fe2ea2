"""The format that is frozen: a file written long ago is read and taken up again, and what is written today is the same (R6.5, R6.43)."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import FORMAT_VERSION, CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import IncompleteRun, PendingInterrupts, StoreUnavailable
from llm4s_notebook.graph import Completed, GraphRuntime, Suspended

from .letters import LONG, letter, letters, read_threads, write_threads

THREADS = ("blocked", "edited", "finished", "forked", "held", "pruned", "seeded", "unfinished", "waiting")
HERE = Path(__file__).parent
FROZEN = HERE / "format-1.db"
FOUND: dict[str, Any] = json.loads((HERE / "format-1.json").read_text(encoding="utf-8"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A copy of the old file, which is never written to."""
    return Path(shutil.copy(FROZEN, tmp_path / "old.db"))


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(file) as opened:
        yield opened


def layout(path: Path) -> list[Any]:
    connection = sqlite3.connect(path)
    try:
        tables = connection.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        return [
            *tables,
            *connection.execute("PRAGMA page_size").fetchone(),
            *connection.execute("SELECT version FROM llm4s_schema").fetchone(),
        ]
    finally:
        connection.close()


def without_chance(history: Any) -> Any:
    """A history without times and random run ids."""
    text = json.dumps(history)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "RUN", text)
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+\+00:00", "THEN", text))


# -- reading --------------------------------------------------------------------------------------------------------------


async def test_everything_in_the_old_file_is_read_as_it_was_written(store: SqliteCheckpointer) -> None:
    """R6.5, R6.11, R6.13, R7.2: states, journals, events, what waits and what was recorded."""
    found = await read_threads(store)
    assert (
        sorted(found)
        == sorted(FOUND)
        == sorted(["blocked", "edited", "finished", "forked", "held", "pruned", "seeded", "unfinished", "waiting"])
    )
    for thread, expected in FOUND.items():
        assert found[thread] == expected, thread


async def test_reading_changes_nothing(file: Path) -> None:
    """R6.41: the old file's tables stay as they are."""
    before = layout(file)
    async with SqliteCheckpointer(file) as store:
        await read_threads(store)
    assert layout(file) == before
    async with SqliteCheckpointer(file) as store:
        assert await read_threads(store) == FOUND


# -- taking up again ------------------------------------------------------------------------------------------------------


async def test_a_waiting_thread_is_answered(store: SqliteCheckpointer) -> None:
    """R4.8: the question asked long ago takes its answer now."""
    runtime, graph = GraphRuntime(store), letters()
    with pytest.raises(PendingInterrupts):
        await runtime.start("waiting", graph, [letter("ada")])
    done = await (await runtime.resume("waiting", graph, {"1.2": {"send": False}}))
    assert isinstance(done, Completed)
    assert sorted(done.output[:4]) == ["asked ada", "asked cy", "signed", "stamped"]
    assert done.output[4:] == ["done", f"ada: True {LONG}", "cy: False None", "posted ['bob', 'ada', 'cy']"]
    again = await runtime.run("waiting", graph, [letter("dee")])
    assert isinstance(again, Completed)
    assert again.output[-1] == "posted ['ada', 'cy', 'dee']"


async def test_a_held_thread_proceeds(store: SqliteCheckpointer) -> None:
    """R5.10, R5.16: held before and after, let through; what asks then waits."""
    runtime, graph = GraphRuntime(store), letters()
    held = await runtime.pending("held", graph)
    assert held is not None
    assert [(one.resume_node, str(one.breakpoint)) for one in held.interrupts] == [
        *[("write", "Before")] * 3,
        ("sign", "After"),
        ("stamp", "Before"),
    ]
    waits = await (await runtime.resume("held", graph, {one.id: None for one in held.interrupts}))
    assert isinstance(waits, Suspended)
    done = await (await runtime.resume("held", graph, {one.id: {"send": True} for one in waits.interrupts}))
    assert isinstance(done, Completed)
    assert done.output[-1] == "posted ['bob', 'ada', 'cy']"


async def test_an_unfinished_thread_recovers(store: SqliteCheckpointer) -> None:
    """R8.10, D8: its process is long dead; what was recorded is not run again."""
    runtime, graph = GraphRuntime(store), letters()
    with pytest.raises(IncompleteRun):
        await runtime.start("unfinished", graph, [letter("ada")])
    handle = await runtime.recover("unfinished", graph)
    waits = await handle
    assert isinstance(waits, Suspended)
    told = [record.task_id for record in await store.events_after("unfinished", 0) if type(record.event).__name__ == "TaskCompleted"]
    assert len(told) == len(set(told))
    done = await (await runtime.resume("unfinished", graph, {one.id: {"send": True} for one in waits.interrupts}))
    assert isinstance(done, Completed)
    assert done.output[-1] == "posted ['ada', 'dies', 'bob']"


@pytest.mark.parametrize(("thread", "output"), [("seeded", ["dee", "eve"]), ("blocked", ["ada", "eve"]), ("pruned", ["ada", "ada", "eve"])])
async def test_a_thread_that_ended_begins_another_turn(store: SqliteCheckpointer, thread: str, output: list[str]) -> None:
    """R4.21 over a seed, a retracted turn and a pruned history."""
    done = await GraphRuntime(store).run(thread, letters(), [letter("eve")])
    assert isinstance(done, Completed)
    assert done.output[-1] == f"posted {output}"
    if thread == "blocked":
        assert "a secret" not in json.dumps(await read_threads(store))


async def test_every_old_checkpoint_can_be_forked_and_the_old_thread_pruned(store: SqliteCheckpointer) -> None:
    """R6.32, R6.37."""
    runtime, graph = GraphRuntime(store), letters()
    for number, one in enumerate(await runtime.history("finished", limit=100)):
        await runtime.fork("finished", one.id, f"copy-{number}")
        assert graph.snapshot(graph.restore((await runtime.history(f"copy-{number}"))[0])) == graph.snapshot(graph.restore(one))
    edited = await (await runtime.resume("edited", graph, {"1.2": {"send": True}}))
    assert isinstance(edited, Completed)
    assert "by hand" in edited.output
    await runtime.delete_thread("finished")
    assert await store.latest("finished") is None
    assert len(await store.threads(status=CheckpointStatus.RUNNING)) >= 2


def test_a_second_process_goes_on_with_the_old_file(file: Path) -> None:
    """R4.8, R6.29: resumed in a fresh interpreter."""
    code = (
        "import asyncio, sys\nfrom llm4s_notebook.checkpoint import SqliteCheckpointer\nfrom llm4s_notebook.graph import GraphRuntime\n"
        "from tests.histories.letters import letters\nasync def main():\n    async with SqliteCheckpointer(sys.argv[1]) as store:\n"
        "        done = await (await GraphRuntime(store).resume('waiting', letters(), {'1.2': {'send': False}}))\n"
        "        print(done.output[-1])\n"
        "asyncio.run(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)], cwd=HERE.parents[1], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "posted ['bob', 'ada', 'cy']"


# -- frozen ---------------------------------------------------------------------------------------------------------------


async def test_what_is_written_today_is_what_was_written_then(tmp_path: Path, file: Path) -> None:
    """Format 1 is frozen: the same threads give the same tables, checkpoints and journals, whatever the code has become."""
    assert FORMAT_VERSION == 1
    fresh = tmp_path / "fresh.db"
    await write_threads(fresh)
    assert layout(fresh) == layout(file)
    async with SqliteCheckpointer(fresh) as store:
        found = await read_threads(store)
    for thread, expected in FOUND.items():
        assert without_chance(found[thread]["history"]) == without_chance(expected["history"]), thread


def test_a_file_from_a_later_version_is_left_as_it_is(file: Path) -> None:
    """R6.43: the refusal says what to do, and not a byte is changed."""
    connection = sqlite3.connect(file)
    connection.execute("UPDATE llm4s_schema SET version = version + 1")
    connection.commit()
    connection.close()
    before = file.read_bytes()
    with pytest.raises(StoreUnavailable, match="newer llm4s-notebook"):
        SqliteCheckpointer(file)
    assert file.read_bytes() == before

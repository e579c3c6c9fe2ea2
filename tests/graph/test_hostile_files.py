"""Runs on files that are cut off, full, read-only or locked by somebody else: clear errors, the thread unchanged (6.8, R6.42, R6.43)."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus, SqliteCheckpointer
from llm4s_notebook.errors import CheckpointWriteFailed, Llm4sError, StoreUnavailable
from llm4s_notebook.graph import GraphRuntime

from .graphs import Fan, fan, ids, output, trace
from .test_hostile_store import nothing_imported

LARGE = "x" * 400_000
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""


@contextmanager
def locked(file: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process holds the write lock until its stdin is closed, which the end of the block does too."""
    command = [sys.executable, "-c", LOCK, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "locked\n"
        yield process
        process.stdin.close()
        assert process.wait(60) == 0


async def asked(file: Path) -> Fan:
    """A file with a thread that waits, closed."""
    made = fan()
    async with SqliteCheckpointer(file) as store:
        await GraphRuntime(store).run("t", made.graph, ["a", "ask"])
    return made


async def test_a_store_that_was_closed_says_so_to_who_goes_on_from_what_is_held(tmp_path: Path) -> None:
    """R4.20, R6.43: not that a checkpoint was not written, which a recover would not mend; the same as where nothing is held."""
    made = fan()
    store = SqliteCheckpointer(tmp_path / "t.db")
    holding, cold = GraphRuntime(store), GraphRuntime(store)
    await holding.run("t", made.graph, ["ask"])
    await holding.run("u", made.graph, ["a"])
    await store.aclose()
    for runtime in (holding, cold):
        with pytest.raises(StoreUnavailable, match="the store is closed"):
            await runtime.resume("t", made.graph, {"1.0": True})
        with pytest.raises(StoreUnavailable, match="the store is closed"):
            await runtime.start("u", made.graph, ["b"])
    assert (made.ran["approve ask"], made.ran["b"]) == (0, 0)
    async with SqliteCheckpointer(tmp_path / "t.db") as again:
        assert (await again.head("t")).status is CheckpointStatus.SUSPENDED


async def test_a_lock_held_elsewhere_for_three_seconds_is_waited_for(tmp_path: Path) -> None:
    """R6.42: an answer given meanwhile is taken, and the run ends as if nothing had been."""
    file = tmp_path / "t.db"
    made = await asked(file)
    async with SqliteCheckpointer(file, busy_timeout=60) as store:
        runtime = GraphRuntime(store)
        held = await runtime.pending("t", made.graph)
        with locked(file) as process:
            impatient = sqlite3.connect(file, timeout=0, isolation_level=None)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                impatient.execute("BEGIN IMMEDIATE")
            impatient.close()
            resuming = asyncio.create_task(runtime.resume("t", made.graph, {ids(held)[0]: True}))
            await asyncio.sleep(3)
            assert not resuming.done()
            assert process.stdin is not None
            process.stdin.close()
            assert output(await (await resuming)) == ["planned", "A", "ask:True", "summ"]


async def test_a_lock_held_longer_than_the_timeout_is_an_error_and_changes_nothing(tmp_path: Path) -> None:
    """R6.42, R4.20: nothing is admitted; the error names the file, how long it waited and what to do; later the answer is taken."""
    file = tmp_path / "t.db"
    made = await asked(file)
    async with SqliteCheckpointer(file, busy_timeout=0.2) as store:
        runtime = GraphRuntime(store)
        held = await runtime.pending("t", made.graph)
        before = await trace(store)
        with locked(file):
            with pytest.raises(CheckpointWriteFailed) as caught:
                await runtime.resume("t", made.graph, {ids(held)[0]: True})
            assert isinstance(caught.value.__cause__, StoreUnavailable)
            for text in (str(caught.value), str(caught.value.__cause__)):
                assert "0.2 s" in text
            assert str(file) in str(caught.value.__cause__)
            assert await trace(store) == before  # reads need no lock
            assert made.ran["approve ask"] == 0
        assert output(await (await runtime.resume("t", made.graph, {ids(held)[0]: True}))) == ["planned", "A", "ask:True", "summ"]


async def test_a_disk_that_fills_up_during_a_run_leaves_what_was_committed(tmp_path: Path) -> None:
    """R6.9, R8.14: the run ends with CheckpointWriteFailed saying that the disk is full; with room again it is recovered."""
    file = tmp_path / "t.db"
    made = fan()
    async with SqliteCheckpointer(file) as store:
        runtime = GraphRuntime(store)
        await runtime.run("t", made.graph, ["a"])
        # the limit stands in for the end of a disk: SQLite reports both as SQLITE_FULL
        limit_pages(store, 20)
        before = await store.history("t")
        with pytest.raises(CheckpointWriteFailed) as caught:
            await runtime.run("t", made.graph, [LARGE, "b"])
        assert "full" in str(caught.value)
        assert str(file) in str(caught.value.__cause__)
        assert (await store.history("t"))[-len(before) :] == before
        status = (await store.head("t")).status
        limit_pages(store, 1_000_000)
        again = (
            await runtime.recover("t", made.graph)
            if status is CheckpointStatus.RUNNING
            else await runtime.start("t", made.graph, [LARGE, "b"])
        )
        assert output(await again)[-3:] == [LARGE.upper(), "B", "summ"]


def limit_pages(store: SqliteCheckpointer, more: int) -> None:
    def limit(connection: sqlite3.Connection) -> None:
        count = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {count + more}").fetchone()

    store._writer.call_now(limit)


async def test_a_read_only_file_is_refused_with_a_way_out(tmp_path: Path) -> None:
    """R6.43: at opening, before anything is asked of it; the file stays as it was."""
    file = tmp_path / "t.db"
    await asked(file)
    content = file.read_bytes()
    script = (
        "import asyncio, os, sys\n"
        "from llm4s_notebook.checkpoint import SqliteCheckpointer\n"
        "from llm4s_notebook.errors import StoreUnavailable\n"
        "asyncio.run(SqliteCheckpointer(sys.argv[2]).aclose())\n"  # what a first store imports may lie where only root reads
        "os.getuid() == 0 and os.setuid(65534)\n"
        "try:\n    SqliteCheckpointer(sys.argv[1])\n"
        "except StoreUnavailable as error:\n    print(error.reason, '|', error.next_step)\n"
    )
    # a folder that anybody may enter, whatever the test runs as
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):  # the test's, the worker's, the session's, the user's
        if folder.stat().st_uid == os.getuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    tmp_path.chmod(0o777)  # noqa: ASYNC240 - nothing else runs
    file.chmod(0o444)
    done = subprocess.run(  # noqa: ASYNC221 - nothing else runs
        [sys.executable, "-c", script, str(file), str(tmp_path / "first.db")], capture_output=True, text=True, check=False
    )
    assert "read-only" in done.stdout, done.stderr
    assert "writable" in done.stdout
    assert file.read_bytes() == content


@pytest.mark.parametrize("kept", [0.03, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
async def test_a_file_that_was_cut_off_is_said_to_be_damaged(tmp_path: Path, kept: float) -> None:
    """R6.43, 6.8: at opening or at the first look into the lost part; nothing is loaded and no body runs, whatever is read."""
    file = tmp_path / "t.db"
    made = await asked(file)
    async with SqliteCheckpointer(file) as store:
        for _ in range(30):
            await GraphRuntime(store).fork("t", (await store.head("t")).checkpoint_id or "", f"u{_}")
    made.ran.clear()
    with file.open("r+b") as cut:
        cut.truncate(int(file.stat().st_size * kept) // 512 * 512)

    async def used() -> None:
        async with SqliteCheckpointer(file) as store:
            with nothing_imported():
                for name in ("t", *(f"u{n}" for n in range(30))):
                    await GraphRuntime(store).pending(name, made.graph)
                    await store.events_after(name, 0)
                    await store.history(name)

    with pytest.raises(StoreUnavailable) as caught:
        await used()
    assert caught.value.path == str(file)
    assert "damaged" in caught.value.reason or "malformed" in caught.value.reason
    assert caught.value.next_step
    assert not made.ran


@pytest.mark.parametrize("seed", range(12))
async def test_overwritten_bytes_end_in_an_error_or_change_nothing_that_is_used(tmp_path: Path, seed: int) -> None:
    """6.8, D7: a file with 200 bytes overwritten anywhere behind its first page is read with clear errors only."""
    import random

    drawn = random.Random(seed)
    file = tmp_path / "t.db"
    made = await asked(file)
    made.ran.clear()
    with file.open("r+b") as spoilt:
        size = file.stat().st_size
        for _ in range(200):
            spoilt.seek(drawn.randrange(4096, size))
            spoilt.write(bytes([drawn.randrange(256)]))
    errors: list[Llm4sError] = []

    async def attempt(call: Any) -> None:
        try:
            await call()
        except Llm4sError as error:
            errors.append(error)

    async def used() -> None:
        async with SqliteCheckpointer(file) as store:
            runtime = GraphRuntime(store)
            with nothing_imported():
                await attempt(lambda: runtime.pending("t", made.graph))
                await attempt(lambda: store.events_after("t", 0))
                await attempt(lambda: store.history("t"))
                await attempt(store.threads)
                await attempt(lambda: runtime.resume("t", made.graph, {"no such id": True}))

    await attempt(used)
    assert errors
    for error in errors:
        assert error.what
        assert error.next_step
    assert not made.ran

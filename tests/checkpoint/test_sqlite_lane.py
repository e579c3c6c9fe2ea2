"""The threads behind the SQLite store: callers that go away, stores that are dropped, parts that fail (D18, D23)."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Commit, SqliteCheckpointer
from llm4s_notebook.errors import Llm4sError, StoreUnavailable
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import draft

clock = ManualClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as made:
        yield made


class HeldUp:
    """Keeps the writing thread busy while entered, so that what is called meanwhile becomes one group."""

    def __init__(self, store: SqliteCheckpointer) -> None:
        self.store = store
        self.busy, self.go = threading.Event(), threading.Event()

    def _work(self, connection: sqlite3.Connection) -> None:
        self.busy.set()
        self.go.wait(30)

    async def __aenter__(self) -> None:
        self.holding = asyncio.create_task(self.store._writer.call(self._work))
        await asyncio.to_thread(self.busy.wait, 30)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(0)
        self.go.set()
        await self.holding


async def test_a_cancelled_caller_harms_nobody(store: SqliteCheckpointer) -> None:
    """CancelledError passes untouched; what was queued is done, and the next call is as usual."""
    claim = await store.claim("t", "run", 30)
    async with HeldUp(store):
        gone = asyncio.create_task(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),))))
        stays = asyncio.create_task(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),))))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
    await stays
    assert [one.id for one in await store.history("t")] == ["run/2", "run/1"]


async def test_a_caller_whose_loop_is_gone_harms_nobody(store: SqliteCheckpointer) -> None:
    """D23: the result is for nobody, the commit stands."""
    claim = await store.claim("t", "run", 30)
    async with HeldUp(store):

        async def abandoned() -> None:
            asyncio.create_task(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),))))  # noqa: RUF006 - the case
            await asyncio.sleep(0)

        await asyncio.to_thread(asyncio.run, abandoned())
    await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),)))
    assert [one.id for one in await store.history("t")] == ["run/2", "run/1"]


@pytest.mark.parametrize("broken", [{"run_id": None}, {"graph_id": object()}, {"superstep": 1 << 80}, {"body": None}])
async def test_a_part_the_database_refuses_fails_no_neighbour(store: SqliteCheckpointer, broken: dict[str, Any]) -> None:
    """D18: alone and in a group; the refused caller hears of it."""
    claims = [await store.claim(f"t{n}", "run", 30) for n in range(3)]

    def commit(n: int, **changes: Any) -> Commit:
        made = draft(clock, 1, thread=f"t{n}")
        return Commit(token=claims[n].token, checkpoints=(made.replaced(header=made.header.replaced(**changes)),))

    async with HeldUp(store):
        tasks = [asyncio.create_task(store.commit(f"t{n}", commit(n, **(broken if n == 1 else {})))) for n in range(3)]
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(one, Exception) for one in outcomes] == [False, True, False]
    assert isinstance(outcomes[1], Llm4sError)
    with pytest.raises(Llm4sError):
        await store.commit("t1", commit(1, **broken))
    assert [await store.latest(f"t{n}") is None for n in range(3)] == [False, True, False]
    await store.commit("t1", commit(1))


async def test_a_fault_in_the_thread_is_answered_and_the_thread_lives_on(store: SqliteCheckpointer) -> None:
    """A bug in a piece of work reaches its caller as it is."""

    def faulty(connection: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    for lane in (store._writer, store._reader):
        with pytest.raises(ZeroDivisionError):
            await lane.call(faulty)
        with pytest.raises(ZeroDivisionError):
            lane.call_now(faulty)
        assert await lane.call(lambda c: c.execute("SELECT 1").fetchone()) == (1,)


def threads_of_stores() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("llm4s-")}


async def test_closing_ends_the_threads(tmp_path: Path) -> None:
    """D23: none is left, and the log is gone with the last store."""
    before = threads_of_stores()
    store = SqliteCheckpointer(tmp_path / "x.db")
    await store.claim("t", "run", 30)
    assert len(threads_of_stores() - before) == 2
    await store.aclose()
    assert threads_of_stores() <= before  # stores of earlier tests may end meanwhile
    assert [one.name for one in tmp_path.iterdir()] == ["x.db"]  # noqa: ASYNC240 - one small look


async def test_a_store_that_is_dropped_ends_its_threads(tmp_path: Path) -> None:
    """A forgotten aclose leaks no thread."""
    before = threads_of_stores()
    store = SqliteCheckpointer(tmp_path / "x.db")
    await store.claim("t", "run", 30)
    own = threads_of_stores() - before
    assert len(own) == 2
    del store
    gc.collect()
    for one in own:
        await asyncio.to_thread(one.join, 10)
    assert threads_of_stores() <= before  # stores of earlier tests may end meanwhile


async def test_a_refused_file_leaves_no_thread(tmp_path: Path) -> None:
    """R6.43."""
    before = threads_of_stores()
    (tmp_path / "x.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreUnavailable):
        SqliteCheckpointer(tmp_path / "x.db")
    for one in threads_of_stores() - before:
        await asyncio.to_thread(one.join, 10)
    assert threads_of_stores() <= before  # stores of earlier tests may end meanwhile

"""Lists of threads in SQLite: every mixture of what waits, as the store in memory shows it, and what damaged rows end in (W8)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus, Commit, InMemoryCheckpointer, Set, SqliteCheckpointer, ThreadSummary
from llm4s_notebook.checkpoint._sqlite import _lists
from llm4s_notebook.errors import StoreUnavailable
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import SUSPENDED, draft

clock = ManualClock()
_IDS = ("0.10", "0.2", "0.9")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as made:
        yield made


async def begun(store: SqliteCheckpointer | InMemoryCheckpointer, thread: str, status: CheckpointStatus, waiting: int) -> None:
    """A thread in which so many records wait, parked in the order of `_IDS`."""
    parked = [Set("parked", one, f'{{"of":"{thread}","id":"{one}"}}'.encode()) for one in _IDS[:waiting]]
    made = draft(clock, 1, None, *parked, thread=thread, status=status)
    await store.claim_and_commit(thread, "r", 60, Commit(token=0, checkpoints=(made,), release=True))


async def pages(store: SqliteCheckpointer | InMemoryCheckpointer, status: CheckpointStatus | None, limit: int) -> list[ThreadSummary]:
    """All pages of that length, one behind the other."""
    found: list[ThreadSummary] = []
    while page := await store.threads(status=status, limit=limit, after=found[-1].thread_id if found else None):
        assert len(page) <= limit
        found.extend(page)
    return found


@pytest.mark.parametrize("at_once", [2, 10_000])
@pytest.mark.parametrize("limit", [1, 2, 3, 1000, 10**30])
@pytest.mark.parametrize("status", [None, *CheckpointStatus])
async def test_a_page_shows_what_the_store_in_memory_shows(
    store: SqliteCheckpointer, monkeypatch: pytest.MonkeyPatch, status: CheckpointStatus | None, limit: int, at_once: int
) -> None:
    """W8: one statement for all statuses or for one; nothing, one or several waiting; a page never ends inside a thread, also where
    it is not read at once."""
    monkeypatch.setattr(_lists, "_AT_ONCE", at_once)
    other = InMemoryCheckpointer(clock=clock)
    for n in range(24):
        for each in (store, other):
            await begun(each, f"t{n}", list(CheckpointStatus)[n % 4], n // 4 % 4)
        clock.advance(1)
    listed = await pages(store, status, limit)
    assert listed == await pages(other, status, limit)
    assert len(listed) == (24 if status is None else 6)
    assert {one.interrupts for one in listed} == {_IDS[:waiting] for waiting in range(4)}
    assert all(tuple(one.id for one in each.waiting) == each.interrupts for each in listed)


@pytest.mark.parametrize("waiting", [1, 3])
async def test_a_list_that_would_hold_up_its_caller_is_read_elsewhere(
    store: SqliteCheckpointer, monkeypatch: pytest.MonkeyPatch, waiting: int
) -> None:
    """W8: as many lines as may be read at once are read at once, one more is not; what comes of it is the same."""
    for n in range(4):
        await begun(store, f"t{n}", SUSPENDED, waiting)
    listed = await store.threads(status=SUSPENDED, limit=3)
    assert [one.interrupts for one in listed] == [_IDS[:waiting]] * 3

    def lines(limit: int, most: int) -> int:
        return len(store._reader.call_now(lambda c: _lists.summaries(c, SUSPENDED, None, limit, most)))

    assert lines(3, 3 * waiting) == 3
    assert lines(4, 4 * waiting) == 4
    with pytest.raises(_lists.TooLong):
        lines(3, 3 * waiting - 1)
    with pytest.raises(_lists.TooLong):
        lines(10, 3)
    monkeypatch.setattr("llm4s_notebook.checkpoint._sqlite._store._FEW_LINES", 2)
    assert await store.threads(status=SUSPENDED, limit=3) == listed


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE llm4s_parked SET value = NULL", "is no JSON text but None"),
        ("UPDATE llm4s_parked SET value = 7", "is no JSON text but 7"),
        ("DELETE FROM llm4s_parked", "is no JSON text but None"),
        ("DELETE FROM llm4s_graph", "the graph of thread 't' is missing"),
        ("UPDATE llm4s_thread SET created_at = 'soon'", "the rows of its threads"),
        ("UPDATE llm4s_thread SET created_at = NULL", "the rows of its threads"),
        ("UPDATE llm4s_thread SET created_at = 9000000000000000000", "the rows of its threads"),
    ],
)
@pytest.mark.parametrize("status", [None, SUSPENDED])
async def test_a_damaged_line_is_named(store: SqliteCheckpointer, damage: str, said: str, status: CheckpointStatus | None) -> None:
    """6.8: a list of threads ends in StoreUnavailable naming the file."""
    await begun(store, "t", SUSPENDED, 1)
    store._writer.call_now(lambda c: c.execute(damage) and None)
    with pytest.raises(StoreUnavailable, match=said) as caught:
        await store.threads(status=status)
    assert str(store.location) in str(caught.value)


async def test_a_record_edited_with_another_program_is_read(store: SqliteCheckpointer) -> None:
    """6.8: SQLite's own text is as good as bytes."""
    await begun(store, "t", SUSPENDED, 1)
    store._writer.call_now(lambda c: c.execute("UPDATE llm4s_parked SET value = CAST(value AS TEXT)") and None)
    [listed] = await store.threads(status=SUSPENDED)
    assert [one.record for one in listed.waiting] == [b'{"of":"t","id":"0.10"}']


@pytest.mark.parametrize("status", [None, *CheckpointStatus])
async def test_no_table_is_read_whole(store: SqliteCheckpointer, status: CheckpointStatus | None) -> None:
    """W8: every line is found through an index; only the running threads, which are few, are sorted."""
    place = {"time": _lists.MOST, "key": _lists.MOST}
    plan = store._reader.call_now(lambda c: [one[3] for one in c.execute(f"EXPLAIN QUERY PLAN {_lists.LINES[status]}", place)])
    assert not any(one.startswith("SCAN") for one in plan)
    assert plan.count("USE TEMP B-TREE FOR ORDER BY") == (1 if status in (None, CheckpointStatus.RUNNING) else 0)

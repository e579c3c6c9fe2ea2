"""Commits that bring and end hundreds of entries: few statements, and the same on disk as in memory (D17, D18, R6.18)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import (
    Append,
    Checkpointer,
    CheckpointStatus,
    Commit,
    InMemoryCheckpointer,
    PatchOp,
    Set,
    SqliteCheckpointer,
    Truncate,
    Unset,
)
from llm4s_notebook.checkpoint._sqlite._bulk import Insert, blob, runs
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import RUNNING, SUSPENDED, draft, write

LONG = b'"' + b"x" * 200 + b'"'
clock = ManualClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as made:
        yield made


def tasks(superstep: int, count: int) -> list[PatchOp]:
    return [Set("task", f"{superstep}.{n}", b'{"input":%d}' % n) for n in range(count)]


async def commit(store: Checkpointer, token: int, *patches: Sequence[PatchOp], at: int, status: CheckpointStatus = RUNNING) -> None:
    """One commit with a checkpoint for each patch, the first of them number `at`."""
    drafts = [draft(clock, at + n, None if at + n == 1 else "", *patch, status=status) for n, patch in enumerate(patches)]
    await store.commit("t", Commit(token=token, checkpoints=tuple(drafts)))


def executed(store: SqliteCheckpointer) -> list[str]:
    """The statements of the writing connection from now on."""
    statements: list[str] = []
    store._writer.call_now(lambda connection: (connection.set_trace_callback(statements.append), 1))
    return statements


async def test_a_thousand_tasks_come_park_and_go_in_few_statements(store: SqliteCheckpointer) -> None:
    """D18: of a superstep of 1,000 tasks; none is looked up, ended or brought by a statement of its own."""
    token = (await store.claim("t", "run", 60)).token
    statements = executed(store)
    told: list[int] = []
    asked = [Set("parked", f"1.{n}", b'{"node":"answered","question":%d}' % n) for n in range(1000)]
    answered = [Unset("parked", f"1.{n}") for n in range(1000)]
    finished = [Unset("task", f"2.{n}") for n in range(1000)]
    items = tuple(b"%d" % n for n in range(1000))
    for number, patch in enumerate(
        (
            tasks(1, 1000),
            [*[Unset("task", f"1.{n}") for n in range(1000)], *asked],
            [*answered, *tasks(2, 1000)],
            [*finished, Append("state", "out", items)],
        ),
        1,
    ):
        before = len(statements)
        await commit(store, token, patch, at=number)
        told.append(len(statements) - before)
    assert max(told) <= 160
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries == {("state", "out"): list(items)}


async def test_what_a_store_that_knows_nothing_ends_is_looked_up_at_once(tmp_path: Path, store: SqliteCheckpointer) -> None:
    """D18, D17: 900 of 1,000 that wait are answered through another store."""
    token = (await store.claim("t", "run", 60)).token
    asked: list[PatchOp] = [Set("parked", f"0.{n}", b"%d" % n) for n in range(1000)]
    await commit(store, token, asked, at=1, status=SUSPENDED)
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as other:
        statements = executed(other)
        await commit(other, token, [Unset("parked", f"0.{n}") for n in range(100, 1000)], at=2)
        assert len(statements) <= 30
        latest = await other.latest("t")
        assert latest is not None
        assert [name for _, name in latest.checkpoint.entries] == [f"0.{n}" for n in range(100)]


def patch_of(pick: random.Random, known: dict[tuple[str, str], bool]) -> list[PatchOp]:
    """Up to 200 operations on entries that are there, were there, or come; most patches touch each entry once, as a superstep does."""
    patch: list[PatchOp] = []
    once = pick.random() < 0.7
    touched: set[tuple[str, str]] = set()
    for _ in range(pick.choice((3, 70, 200))):
        section = pick.choice(("state", "task", "parked"))
        at = (section, str(pick.randrange(150)))
        if once and at in touched:
            continue
        touched.add(at)
        what = pick.random()
        if what < 0.35:
            patch.append(Unset(*at))
            known.pop(at, None)
        elif section == "state" and what < 0.6 and not known.get(at, False):
            patch.append(Append(*at, tuple(pick.choice((b"1", LONG)) for _ in range(pick.randrange(4)))))
            known[at] = False
        elif section == "state" and what < 0.65 and known.get(at) is False:
            patch.append(Truncate(*at, 0))
        else:
            patch.append(Set(*at, pick.choice((b"1", b'"%d"' % pick.randrange(99), LONG, b'{"input":' + LONG + b"}"))))
            known[at] = True
    return patch


@pytest.mark.parametrize("seed", range(12))
async def test_many_entries_are_the_same_on_disk_as_in_memory(tmp_path: Path, seed: int) -> None:
    """R6.18, D17: long patches, several checkpoints of one commit, through a store that goes on and one that knows nothing."""
    pick = random.Random(seed)
    known: dict[tuple[str, str], bool] = {}  # True: one value
    memory = InMemoryCheckpointer(clock=clock)
    file = tmp_path / "threads.db"
    disk = SqliteCheckpointer(file, synchronous="normal", clock=clock)
    tokens = [(await one.claim("t", "run", 60)).token for one in (memory, disk)]
    at = 1
    for _ in range(8):
        patches = [patch_of(pick, known) for _ in range(pick.choice((1, 1, 2)))]
        await commit(memory, tokens[0], *patches, at=at)
        await commit(disk, tokens[1], *patches, at=at)
        at += len(patches)
        if pick.random() < 0.3:
            await disk.aclose()
            disk = SqliteCheckpointer(file, synchronous="normal", clock=clock)
    one, other = await memory.history("t", limit=50), await disk.history("t", limit=50)
    assert [list(checkpoint.entries.items()) for checkpoint in one] == [list(checkpoint.entries.items()) for checkpoint in other]
    await disk.aclose()


async def test_rows_that_are_referred_to_keep_their_keys_among_items_that_are_not(store: SqliteCheckpointer) -> None:
    """R6.18: SQLite numbers short items itself; what comes before and behind them in a commit is found again under its own key."""
    token = (await store.claim("t", "run", 60)).token
    await commit(store, token, [Append("state", "a", (b"1", b"2"))], at=1)
    mixed: list[PatchOp] = [
        Append("state", "a", (b"3", b"4")),
        Append("state", "b", (b"5", LONG, b"6")),
        Set("parked", "p", LONG),
        Append("state", "c", (b"7",)),
        Set("state", "d", LONG),
    ]
    await commit(store, token, mixed, [Append("state", "c", (b"8",)), Unset("state", "d"), Append("state", "b", (LONG,))], at=2)
    await commit(store, token, [Unset("state", "a"), Append("state", "b", (b"9",))], at=4)
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries == {
        ("state", "b"): [b"5", LONG, b"6", LONG, b"9"],
        ("parked", "p"): LONG,
        ("state", "c"): [b"7", b"8"],
    }
    keys: list[int] = store._writer.call_now(lambda c: [row[0] for row in c.execute("SELECT id FROM llm4s_row ORDER BY place")])
    assert keys == list(range(1, len(keys) + 1))


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 40])
async def test_pending_writes_come_back_in_their_order(store: SqliteCheckpointer, count: int) -> None:
    """R6.4: however many share a statement."""
    token = (await store.claim("t", "run", 60)).token
    await commit(store, token, tasks(0, count), at=1)
    writes = tuple(write("run/1", f"0.{n}") for n in range(count))
    await store.commit("t", Commit(token=token, writes=writes))
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == writes


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 32, 33])
def test_rows_are_added_in_their_order(count: int) -> None:
    """D17: tables that carry text are only appended to."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, kind TEXT, value BLOB)")
    rows = [(n + 5, blob(b"%d" % n)) for n in range(count)]
    Insert("t (id, kind, value)", "?, 'fixed', ?").add(connection.cursor(), rows)
    assert connection.execute("SELECT id, kind, value FROM t").fetchall() == [(n + 5, "fixed", b"%d" % n) for n in range(count)]
    assert connection.execute("SELECT DISTINCT typeof(value) FROM t").fetchall() == ([("blob",)] if count else [])


@pytest.mark.parametrize(
    ("numbers", "stretches"),
    [([], []), ([7], [(7, 7)]), ([3, 1, 2], [(1, 3)]), ([1, 2, 4, 5, 6, 9], [(1, 2), (4, 6), (9, 9)])],
)
def test_numbers_are_taken_together(numbers: list[int], stretches: list[tuple[int, int]]) -> None:
    """D18: what one statement ends is nothing but what was to end."""
    assert runs(numbers) == stretches

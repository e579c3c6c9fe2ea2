"""What a commit costs, counted: transactions, statements, rows and bytes (D17, D18, performance goals W1, W4, W6, W8, W9)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Append, Commit, PatchOp, RetentionPolicy, Set, SqliteCheckpointer, Unset
from llm4s_notebook.checkpoint._event import CheckpointCommitted, TaskCompleted
from llm4s_notebook.checkpoint._sqlite import _change, _read
from llm4s_notebook.checkpoint._sqlite._schema import ALIVE
from llm4s_notebook.errors import StaleClaim
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import COMPLETED, RUNNING, SUSPENDED, draft, event

TABLES = ("llm4s_thread", "llm4s_checkpoint", "llm4s_row", "llm4s_write", "llm4s_event")
clock = ManualClock()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as made:
        yield made


class Counted:
    """What the writing connection does while this is entered."""

    def __init__(self, store: SqliteCheckpointer) -> None:
        self.store = store
        self.statements: list[str] = []
        self.rows = 0

    def _at(self, connection: sqlite3.Connection, trace: bool) -> int:
        connection.set_trace_callback(self.statements.append if trace else None)
        return connection.total_changes

    def __enter__(self) -> Counted:
        self.rows = -self.store._writer.call_now(lambda c: self._at(c, True))
        return self

    def __exit__(self, *_: object) -> None:
        self.rows += self.store._writer.call_now(lambda c: self._at(c, False))

    def count(self, word: str) -> int:
        return sum(one.startswith(word) for one in self.statements)

    @property
    def commits(self) -> int:
        """Without the one that only counts."""
        return self.count("COMMIT") - 1


def blobs(store: SqliteCheckpointer) -> int:
    """Bytes of all JSON text in the file."""
    sums = "SELECT (SELECT total(length(value)) FROM llm4s_row) + (SELECT total(length(body) + length(journal)) FROM llm4s_checkpoint)"
    return int(store._reader.call_now(lambda c: c.execute(f"{sums} + (SELECT total(length(body)) FROM llm4s_write)").fetchone()[0]))


def plans(store: SqliteCheckpointer, statement: str, *values: Any) -> list[str]:
    return [row[3] for row in store._reader.call_now(lambda c: c.execute(f"EXPLAIN QUERY PLAN {statement}", values).fetchall())]


def superstep(number: int, token: int, *patch: PatchOp) -> Commit:
    """What a superstep of one task commits: its task out, the next one in, a message appended, two events."""
    message = b'"' + b"x" * 998 + b'"'
    usual = (Unset("task", f"{number - 1}.0"), Set("task", f"{number}.0", b'{"node":"n"}'), Append("state", "messages", (message,)))
    events = (event(clock, TaskCompleted()), event(clock, CheckpointCommitted(number)))
    return Commit(token=token, checkpoints=(draft(clock, number, "", *usual, *patch),), events=events)


async def test_a_commit_costs_the_same_however_long_the_thread_is(store: SqliteCheckpointer) -> None:
    """D17, W4: rows, statements and bytes of the second and of the four-hundredth superstep; nothing is written twice."""
    claim = await store.claim("t", "run", 30)
    cost: dict[int, tuple[int, int, int]] = {}
    before = blobs(store)
    for number in range(1, 401):
        if number not in (2, 100, 400):
            await store.commit("t", superstep(number, claim.token))
            before = blobs(store) if number in (1, 99, 399) else before
            continue
        with Counted(store) as counted:
            await store.commit("t", superstep(number, claim.token))
        cost[number] = (counted.rows, len(counted.statements), blobs(store) - before)
    assert len(set(cost.values())) == 1, cost
    rows, statements, size = cost[400]
    # one thread row, one checkpoint, one row of events; the old task closed, the new one and the message written
    assert rows == 6
    assert statements <= 16
    assert size <= 1000 + 50
    latest = await store.latest("t")
    assert latest is not None
    assert len(latest.checkpoint.entries[("state", "messages")]) == 400
    assert blobs(store) <= 400 * 1050


async def test_a_long_thread_is_read_with_one_look_at_each_live_row(store: SqliteCheckpointer) -> None:
    """W4: what was closed long ago is not touched by reading the latest state."""
    assert "llm4s_row_alive" in plans(store, _read._LIVE, 1)[0]
    seen = plans(store, _read._SEEN, 1, 2, 1, 2, 2)
    assert any("llm4s_row_alive (thread=?" in one for one in seen)
    assert any("llm4s_row_dead (thread=? AND died>?" in one for one in seen)
    assert not any(one.startswith("SCAN llm4s") for one in seen)


async def test_no_statement_of_a_commit_scans_a_table(store: SqliteCheckpointer) -> None:
    """W1, W6: every look-up and every closing goes through an index."""
    for statement, values in (
        (_change._KNOWN, (1, "x")),
        (_change._SHAPE, (1, "s", "n")),
        (_change._CLOSE, (2, 1, "s", "n")),
        (_change._CLOSE_ITEM, (2, 1, "s", "n", 0)),
        (_change._CLOSE_TAIL, (2, 1, "s", "n", 0)),
    ):
        plan = plans(store, statement, *values)
        assert all(one.startswith("SEARCH") and "INDEX" in one for one in plan), plan


async def test_answering_one_of_many_costs_the_same_as_answering_one_of_ten(store: SqliteCheckpointer) -> None:
    """W6: 1,000 parked interrupts are written in one commit; one answer touches its own rows."""
    rows: dict[int, int] = {}
    for count in (10, 1000):
        thread = f"t{count}"
        parked = tuple(Set("parked", f"0.{n}", b'{"question":"ok?"}') for n in range(count))
        paused = draft(clock, 1, None, *parked, thread=thread, status=SUSPENDED)
        with Counted(store) as counted:
            await store.claim_and_commit(thread, "run", 30, Commit(token=0, checkpoints=(paused,), release=True))
        assert counted.commits == 1
        answer = draft(clock, 2, "", Unset("parked", "0.5"), Set("task", "1.0", b"{}"), thread=thread)
        with Counted(store) as counted:
            await store.claim_and_commit(thread, "run", 30, Commit(token=0, checkpoints=(answer,)))
        rows[count] = counted.rows
    assert rows[1000] == rows[10] <= 6


async def test_what_is_queued_together_is_committed_together(store: SqliteCheckpointer) -> None:
    """D18, W9: a hundred threads' commits that wait while the writer is busy make one transaction, also beside refused ones."""
    claims = [await store.claim(f"t{n}", "run", 30) for n in range(100)]
    busy, go = threading.Event(), threading.Event()

    def held_up(connection: sqlite3.Connection) -> None:
        busy.set()
        go.wait(30)

    with Counted(store) as counted:
        holding = asyncio.create_task(store._writer.call(held_up))
        await asyncio.to_thread(busy.wait, 30)
        commits = [
            asyncio.create_task(
                store.commit(
                    f"t{n}",
                    Commit(
                        token=claim.token + (1_000_000 if n % 10 == 0 else 0),
                        checkpoints=(draft(clock, 1, thread=f"t{n}"),),
                        events=(event(clock),),
                    ),
                )
            )
            for n, claim in enumerate(claims)
        ]
        await asyncio.sleep(0)  # each task has queued its commit
        go.set()
        outcomes = await asyncio.gather(*commits, return_exceptions=True)
        await holding
    assert [isinstance(one, StaleClaim) for one in outcomes] == [n % 10 == 0 for n in range(100)]
    assert counted.commits == 2  # the hold-up's own, and one for all hundred
    for n in range(100):
        assert (await store.latest(f"t{n}") is None) == (n % 10 == 0)


async def test_a_single_commit_is_one_transaction_without_a_savepoint(store: SqliteCheckpointer) -> None:
    """D18, W1: exactly one COMMIT; a refused one ends in none."""
    claim = await store.claim("t", "run", 30)
    with Counted(store) as counted:
        await store.commit("t", superstep(1, claim.token))
    assert (counted.commits, counted.count("SAVEPOINT")) == (1, 0)
    with Counted(store) as counted, pytest.raises(StaleClaim):
        await store.commit("t", superstep(2, claim.token + 1))
    assert (counted.commits, counted.count("ROLLBACK")) == (0, 1)


async def test_ten_thousand_threads_are_listed_through_the_index(store: SqliteCheckpointer) -> None:
    """W8: a page of the waiting ones reads as many rows as it shows, whatever else there is; no sorting, no scan."""

    def many(connection: sqlite3.Connection) -> None:
        for key in range(1, 10_001):
            status = SUSPENDED if key % 10 == 0 else COMPLETED
            connection.execute(
                "INSERT INTO llm4s_thread (id, thread_id, seq, checkpoint_id, graph_id, status, created_at, updated_at,"
                " next_event, floor, writes) VALUES (?, ?, 1, 'run/1', 'graph', ?, ?, ?, 1, 1, 0)",
                (key, f"t{key}", status.value, key, key),
            )
            if status is SUSPENDED:
                connection.execute(
                    "INSERT INTO llm4s_row (thread, born, died, section, name, position, value)"
                    f" VALUES (?, 1, {ALIVE}, 'parked', '0.0', -2, x'7b7d')",
                    (key,),
                )

    await store._writer.call(many)
    plan = plans(store, _read._THREADS, "Suspended", _read.MOST, _read.MOST, 100)
    assert len(plan) == 1
    assert plan[0].startswith("SEARCH")
    assert "llm4s_thread_by_status (status=?" in plan[0]
    assert "llm4s_row_alive" in plans(store, _read._WAITING, 1)[0]
    waiting = await store.threads(status=SUSPENDED, limit=10_000)
    assert [one.thread_id for one in waiting] == [f"t{n}" for n in range(10_000, 0, -10)]
    assert all(one.interrupts == ("0.0",) for one in waiting)
    page = await store.threads(status=SUSPENDED, limit=100, after="t5000")
    assert [one.thread_id for one in page] == [f"t{n}" for n in range(4990, 3990, -10)]
    listed: list[str] = []
    while more := await store.threads(limit=1000, after=listed[-1] if listed else None):
        listed.extend(one.thread_id for one in more)
    assert listed == [f"t{n}" for n in range(10_000, 0, -1)]


async def test_history_reads_no_table_from_end_to_end(store: SqliteCheckpointer) -> None:
    """R6.11: a page is found through the thread's own index entries."""
    plan = plans(store, _read._PAGE, 1, 1 << 60, 50)
    assert not any(one.startswith("SCAN llm4s") for one in plan), plan


async def test_removed_data_gives_its_space_back(store: SqliteCheckpointer, tmp_path: Path) -> None:
    """R6.37: pruning and deleting shrink the file once a quarter of it is void; what is kept is as before."""
    large = b'"' + b"x" * 100_000 + b'"'
    for thread in ("t", "u"):
        claim = await store.claim(thread, "run", 30)
        for number in range(1, 41):
            made = draft(
                clock, number, "", Set("state", "a", large), Append("state", "m", (str(number).encode(),)), thread=thread, status=RUNNING
            )
            await store.commit(thread, Commit(token=claim.token, checkpoints=(made,), events=(event(clock),)))
    before = sum(one.stat().st_size for one in tmp_path.iterdir())  # noqa: ASYNC240 - one small look
    kept = (await store.latest("t"), await store.history("u"), await store.events_after("u", 0))
    await store.prune("t", RetentionPolicy(max_checkpoints=1))
    assert (await store.latest("t"), await store.history("u"), await store.events_after("u", 0)) == kept
    after = (tmp_path / "threads.db").stat().st_size
    assert before > 7_000_000
    assert after < before * 0.6
    await store.delete_thread("u")
    assert await store.latest("t") == kept[0]
    assert (tmp_path / "threads.db").stat().st_size < 500_000
    claim = await store.claim("u", "run", 30)
    await store.commit("u", Commit(token=claim.token, checkpoints=(draft(clock, 1, thread="u"),), events=(event(clock),)))
    assert [one.sequence for one in await store.events_after("u", 0)] == [1]

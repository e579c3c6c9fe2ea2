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
from llm4s_notebook.checkpoint._sqlite import _commit, _find, _heads, _lists, _new_rows, _read, _step, _thread_row
from llm4s_notebook.checkpoint._sqlite._open import Synchronous
from llm4s_notebook.checkpoint._sqlite._schema import ALIVE, FIRST_SEQ
from llm4s_notebook.errors import StaleClaim
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import COMPLETED, RUNNING, SUSPENDED, draft, event

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
    """Bytes of every text and blob in the file."""

    def summed(connection: sqlite3.Connection) -> int:
        total = 0
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'llm4s_%'").fetchall():
            columns = [one[1] for one in connection.execute(f"PRAGMA table_info({table})").fetchall() if one[2] in ("TEXT", "BLOB")]
            for column in columns:
                total += int(connection.execute(f"SELECT total(length({column})) FROM {table}").fetchone()[0])
        return total

    return store._reader.call_now(summed)


def plans(store: SqliteCheckpointer, statement: str, *values: Any) -> list[str]:
    given = values[0] if values and isinstance(values[0], dict) else values
    return [row[3] for row in store._reader.call_now(lambda c: c.execute(f"EXPLAIN QUERY PLAN {statement}", given).fetchall())]


def superstep(number: int, token: int, *patch: PatchOp) -> Commit:
    """What a superstep of one task commits: its task out, the next one in, a message appended, two events."""
    message = b'"' + b"x" * 998 + b'"'
    usual = (Unset("task", f"{number - 1}.0"), Set("task", f"{number}.0", b'{"node":"n"}'), Append("state", "messages", (message,)))
    events = (event(clock, TaskCompleted()), event(clock, CheckpointCommitted(number)))
    return Commit(token=token, checkpoints=(draft(clock, number, "", *usual, *patch),), events=events)


async def test_a_commit_costs_the_same_however_long_the_thread_is(store: SqliteCheckpointer) -> None:
    """D17, W4: rows, statements and bytes of the hundredth and of the nine-hundredth superstep; nothing is written twice."""
    claim = await store.claim("t", "run", 30)
    cost: dict[int, tuple[int, int, int]] = {}
    before = blobs(store)
    for number in range(1, 901):
        if number not in (101, 500, 900):
            await store.commit("t", superstep(number, claim.token))
            before = blobs(store) if number in (100, 499, 899) else before
            continue
        with Counted(store) as counted:
            await store.commit("t", superstep(number, claim.token))
        cost[number] = (counted.rows, len(counted.statements), blobs(store) - before)
    assert len(set(cost.values())) == 1, cost
    rows, statements, size = cost[900]
    # the thread, the checkpoint with its little values and its events, the message
    assert rows == 3
    assert statements <= 10
    assert size <= 1000 + 130
    latest = await store.latest("t")
    assert latest is not None
    assert len(latest.checkpoint.entries[("state", "messages")]) == 900
    assert blobs(store) <= 900 * 1130


async def test_a_superstep_of_little_values_writes_two_rows(store: SqliteCheckpointer) -> None:
    """W1: the thread's and the checkpoint's; nothing is looked up."""
    claim = await store.claim("t", "run", 30)

    def commit(n: int) -> Commit:
        values = (Set("task", f"{n}.0", b"{}"), Set("state", "n", b"1"), Set("state", "last", b"2"))
        events = (event(clock, TaskCompleted()), event(clock, CheckpointCommitted(n)))
        return Commit(token=claim.token, checkpoints=(draft(clock, n, "", Unset("task", f"{n - 1}.0"), *values),), events=events)

    for number in (1, 2):
        assert store.commit_now("t", commit(number)) == 2 * number - 1
    with Counted(store) as counted:
        assert store.commit_now("t", commit(3)) == 5
    assert counted.rows == 2
    assert [one.split(" ", 1)[0] for one in counted.statements if "llm4s" in one] == ["UPDATE", "INSERT"]


def turn(number: int, token: int, question: bytes, answer: bytes) -> tuple[Commit, Commit]:
    """What a turn of one task commits: its claim with the question as input, then both messages and the end."""
    cp, task = 3 * number + 1, f"{number}.0"
    claims = draft(clock, cp, "", Set("task", task, b'{"node":"answer","input":' + question + b"}"))
    updates = b'[{"value":' + question + b'},{"value":' + answer + b"}]"
    journal = b'[{"task":"' + task.encode() + b'","input":' + question + b',"updates":' + updates + b"}]"
    made = draft(clock, cp + 1, "", Append("state", "messages", (question, answer)), Unset("task", task))
    made = made.replaced(header=made.header.replaced(journal=journal))
    events = (event(clock, TaskCompleted()), event(clock, CheckpointCommitted(number)))
    ends = draft(clock, cp + 2, "", status=COMPLETED)
    return Commit(token=token, checkpoints=(claims,)), Commit(token=token, checkpoints=(made, ends), events=events)


async def test_a_message_is_stored_once(store: SqliteCheckpointer) -> None:
    """D17, W4: as a task's input, as an item of the state and three times in the journal; all of them are read as they were given."""
    claim = await store.claim("t", "run", 30)
    said: list[bytes] = []
    journals: list[bytes] = []
    for number in range(30):
        question, answer = (b'"' + f"{number}-{word}".encode().ljust(998, b"x") + b'"' for word in ("question", "answer"))
        first, second = turn(number, claim.token, question, answer)
        await store.commit("t", first)
        await store.commit("t", second)
        said += [question, answer]
        journals += [b"[]", second.checkpoints[0].header.journal, b"[]"]
    assert blobs(store) <= 1.2 * sum(map(len, said))
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries == {("state", "messages"): said}
    history = await store.history("t", limit=90)
    assert [one.header.journal for one in reversed(history)] == journals
    assert [one.entries.get(("task", "29.0")) for one in history[:3]] == [None, None, b'{"node":"answer","input":' + said[-2] + b"}"]
    assert [one.entries.get(("state", "messages")) for one in history[:3]] == [said, said, said[:-2]]


async def test_what_is_referred_to_survives_pruning_and_goes_with_the_last_that_refers_to_it(
    store: SqliteCheckpointer, tmp_path: Path
) -> None:
    """R6.37, D17: the closed task that holds an item's text stays while the item is in the state, or a journal is kept that shows it."""
    claim = await store.claim("t", "run", 30)
    for number in range(4):
        question, answer = (b'"' + f"{number}-{word}".encode().ljust(998, b"x") + b'"' for word in ("question", "answer"))
        for commit in turn(number, claim.token, question, answer):
            await store.commit("t", commit)
    before = (await store.latest("t"), (await store.history("t"))[:2])
    await store.prune("t", RetentionPolicy(max_checkpoints=2))
    assert (await store.latest("t"), await store.history("t")) == before
    gone = draft(clock, 13, "", Unset("state", "messages"), status=COMPLETED)
    await store.commit("t", Commit(token=claim.token, checkpoints=(gone,)))
    await store.prune("t", RetentionPolicy(max_checkpoints=1))
    kept = b"".join(one.read_bytes() for one in tmp_path.iterdir())  # noqa: ASYNC240 - one small look
    assert b"-question" not in kept
    assert b"-answer" not in kept
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries == {}


async def test_a_long_thread_is_read_with_one_look_at_each_live_row(store: SqliteCheckpointer) -> None:
    """W4: what was closed long ago is not touched by reading the latest state."""
    for statement, which in zip(_read._LIVE, ("list=?", "list>?"), strict=True):
        assert f"llm4s_row_by_death (thread=? AND died=? AND {which})" in plans(store, statement, 1)[0]
    for statement in _read._SEEN:
        seen = plans(store, statement, 1, 2, 2)
        assert "llm4s_row_by_death (thread=? AND died>?)" in seen[0]
        assert not any(one.startswith("SCAN") for one in seen)


async def test_a_thread_is_read_with_three_statements(store: SqliteCheckpointer) -> None:
    """W4: its row with the latest header, its entries, the items of its lists; and each is found through an index."""
    claim = await store.claim("t", "run", 30)
    for number in range(1, 4):
        await store.commit("t", superstep(number, claim.token))
    with Counted(store) as counted:
        assert await store.latest("t") is not None
    assert [one.split(" ", 1)[0] for one in counted.statements if "llm4s" in one] == ["SELECT"] * 3
    assert not [step for step in plans(store, _read._LATEST, "t") if step.startswith("SCAN")]


async def test_no_statement_of_a_commit_scans_a_table(store: SqliteCheckpointer) -> None:
    """W1, W6: every look-up and every closing goes through a key or an index."""
    for statement, values in (
        (_find._NUMBERED, (1, 1)),
        (_find._NAMED, (1, "x")),
        (_thread_row._SELECT, ("t",)),
        (_thread_row._GLANCE, ("t",)),
        (_heads._ALL.replace(":key", "?").replace(":most", "?"), (1, 2)),
        (_heads._OTHERS.replace(":key", "?").replace(":most", "?"), (1, 1, 2)),
        (_heads._ONE, (1, "s", "n")),
        (_heads._LAST, (1, 1)),
        (_new_rows._GRAPH, ("g", "1", "f")),
        (_step._CLOSE, (2, 1)),
        (_step._CLOSE_ITEM, (2, 1, 1, 0)),
        (_step._CLOSE_TAIL, (2, 1, 1, 0)),
        (_commit._STEP, (1,) * 11),
    ):
        plan = [one for one in plans(store, statement, *values) if one not in ("COMPOUND QUERY", "LEFT-MOST SUBQUERY", "UNION ALL")]
        assert all(one.startswith("SEARCH") and ("INDEX" in one or "PRIMARY KEY" in one) for one in plan), plan


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
            status = SUSPENDED if key % 10 == 0 else RUNNING if key % 10 == 1 else COMPLETED
            connection.execute(
                "INSERT INTO llm4s_thread (id, thread_id, latest, graph, status, created_at, updated_at,"
                " next_event, floor, writes, entries, live, named) VALUES (?, ?, ?, 1, ?, ?, ?, 1, 1, 0, 1, 1, 0)",
                (key, f"t{key}", 1, _thread_row.CODES[status], key, key),
            )
            connection.execute(
                "INSERT INTO llm4s_checkpoint (thread, number, run, status, created_at, superstep, format, token, first_event,"
                " last_event, body, small, journal) VALUES (?, 1, 1, ?, ?, 0, 1, 1, 1, 0, '{}', '', '[]')",
                (key, _thread_row.CODES[status], key),
            )
            if status is SUSPENDED:
                connection.execute(
                    "INSERT INTO llm4s_row (id, thread, place, born, died, list, section, name, position)"
                    f" VALUES (?, ?, 1, {FIRST_SEQ + 1}, {ALIVE}, 0, 'parked', '0.0', -2)",
                    (key, key),
                )
                connection.execute("INSERT INTO llm4s_parked (id, value) VALUES (?, x'7b7d')", (key,))
        connection.execute("INSERT INTO llm4s_graph (id, graph_id, version, fingerprint) VALUES (1, 'graph', '1', 'f')")
        connection.execute("INSERT INTO llm4s_run (id, run_id, graph) VALUES (1, 'run', 1)")

    await store._writer.call(many)
    place = {"time": _lists.MOST, "key": _lists.MOST}
    plan = plans(store, _lists.LINES[SUSPENDED], place)
    assert "t USING COVERING INDEX llm4s_thread_by_status (status=? AND updated_at<?)" in plan[0]
    assert "w USING COVERING INDEX llm4s_row_waiting (thread=? AND section=? AND died=? AND position=?)" in plan[1]
    assert "p USING INTEGER PRIMARY KEY" in plan[2]
    assert len(plan) == 3  # no sorting
    everything = plans(store, _lists.LINES[None], place)
    assert "llm4s_thread_running (status=?)" in "".join(everything)
    assert not any(one.startswith("SCAN") for one in everything)
    asked: list[str] = []
    store._writer.call_now(lambda c: c.set_trace_callback(asked.append))  # which has at hand what it wrote
    assert len(await store.threads(status=SUSPENDED, limit=1000)) == 1000
    store._writer.call_now(lambda c: c.set_trace_callback(None))
    reads = [one for one in asked if one.startswith("SELECT")]
    assert len(reads) == 2  # the threads with what waits, the one graph
    assert not any("llm4s_checkpoint" in one for one in reads)
    waiting = await store.threads(status=SUSPENDED, limit=10_000)
    assert [one.thread_id for one in waiting] == [f"t{n}" for n in range(10_000, 0, -10)]
    assert all(one.interrupts == ("0.0",) for one in waiting)
    page = await store.threads(status=SUSPENDED, limit=100, after="t5000")
    assert [one.thread_id for one in page] == [f"t{n}" for n in range(4990, 3990, -10)]
    listed: list[str] = []
    while more := await store.threads(limit=1000, after=listed[-1] if listed else None):
        listed.extend(one.thread_id for one in more)
    assert listed == [f"t{n}" for n in range(10_000, 0, -1)]


@pytest.mark.parametrize(("synchronous", "limit"), [("full", 512 << 10), ("normal", 4 << 20)])
async def test_the_log_is_overwritten_once_it_is_long(tmp_path: Path, synchronous: Synchronous, limit: int) -> None:
    """W1: where commits wait for the disk the log is short, since it is written faster where it does not grow."""
    large, log = b'"' + b"x" * (limit // 16) + b'"', tmp_path / "threads.db-wal"
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous=synchronous, clock=clock) as store:
        claim = await store.claim("t", "run", 30)
        sizes: list[int] = []
        for number in range(1, 49):
            made = draft(clock, number, "", Append("state", "m", (large,)))
            await store.commit("t", Commit(token=claim.token, checkpoints=(made,)))
            sizes.append(log.stat().st_size)
    assert limit * 0.9 < sizes[16] <= sizes[-1] < limit * 1.3


async def test_history_reads_no_table_from_end_to_end(store: SqliteCheckpointer) -> None:
    """R6.11: a page is found through the thread's own index entries."""
    plan = plans(store, _read._PAGE, 1, 1 << 60, 50)
    assert "llm4s_checkpoint_by_number (thread=? AND number<?)" in plan[0]
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

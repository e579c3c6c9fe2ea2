"""What a store remembers of a thread that it freed: used for the next claim while nothing came between, and never else (R6.23, D8, D17)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import (
    Append,
    Checkpoint,
    Checkpointer,
    Commit,
    EventRecord,
    InMemoryCheckpointer,
    RetentionPolicy,
    Set,
    SqliteCheckpointer,
    Unset,
)
from llm4s_notebook.errors import CheckpointConflict, InvalidCommit, ReplayUnavailable, ThreadBusy
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import COMPLETED, FAILED, RUNNING, SUSPENDED, draft, event, write

LONG = b'"' + b"x" * 200 + b'"'
clock = ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as made:
        yield made


def step(number: int, status: Any = RUNNING, *, parent: str | None = "", token: int = 0, run: str = "run", **more: Any) -> Commit:
    """A little value, a long one that takes the place of the one before, a list, a parked entry that takes the place of another."""
    text = f"{number}".encode()
    patch = (
        Set("state", "n", text),
        Unset("task", f"{number - 1}"),
        Set("task", f"{number}", b'{"input":"' + text * 100 + b'"}'),
        Append("state", "m", (text * 150,)),
        Unset("parked", f"{number - 1}"),
        Set("parked", f"{number}", text),
    )
    made = draft(clock, number, parent, *patch, status=status, run=run)
    return Commit(token=token, checkpoints=(made,), events=(event(clock, f"e{number}"),), **more)


async def told(store: Checkpointer) -> tuple[list[Checkpoint], list[EventRecord]]:
    """All there is of the thread, without the tokens: two stores may have given others."""
    history = await store.history("t", limit=1000)
    plain = [Checkpoint(one.header, one.entries, None) for one in history]
    latest = await store.latest("t")
    assert [one.id for one in history[:1]] == ([latest.checkpoint.id] if latest else [])
    first = 0
    while True:
        try:
            return plain, await store.events_after("t", first)
        except ReplayUnavailable:
            first += 1


@contextmanager
def statements(store: SqliteCheckpointer) -> Iterator[list[str]]:
    """What the writing connection is told meanwhile."""
    ran: list[str] = []
    store._writer.call_now(lambda c: c.set_trace_callback(ran.append))
    try:
        yield ran
    finally:
        store._writer.call_now(lambda c: c.set_trace_callback(None))


Between = Callable[[Checkpointer], Awaitable[None]]


async def nothing(other: Checkpointer) -> None: ...


async def another_turn(other: Checkpointer) -> None:
    claim, _ = await other.claim_and_commit("t", "other", 30, step(3, SUSPENDED, release=True))
    assert claim.token > 0


async def another_turn_under_other_names(other: Checkpointer) -> None:
    await other.claim_and_commit("t", "other", 30, step(3, SUSPENDED, parent="run/2", run="run-b", release=True))


async def a_claim_that_did_nothing(other: Checkpointer) -> None:
    claim = await other.claim("t", "other", 30)
    await other.release("t", claim.token)


async def events_alone(other: Checkpointer) -> None:
    claim = await other.claim("t", "other", 30)
    await other.commit("t", Commit(token=claim.token, events=(event(clock, "alone"), event(clock, "too")), release=True))


async def pending_writes(other: Checkpointer) -> None:
    claim = await other.claim("t", "other", 30)
    await other.commit("t", Commit(token=claim.token, writes=(write("run/2", "1.0"),), release=True))


async def an_edit(other: Checkpointer) -> None:
    """As update_state makes one: the list shorter, an entry gone, the rest as it was."""
    patch = (Unset("state", "m"), Append("state", "m", (b"7",)), Unset("state", "n"))
    edit = Commit(token=0, checkpoints=(draft(clock, 3, "", *patch, status=SUSPENDED),), release=True)
    await other.claim_and_commit("t", "other", 30, edit)


async def a_retraction(other: Checkpointer) -> None:
    """As abandon makes one: the turn leaves the history."""
    closing = draft(clock, 3, "run/1", Set("state", "n", b"0"), status=FAILED)
    await other.claim_and_commit("t", "other", 30, Commit(token=0, checkpoints=(closing,), retract=True, release=True))


async def another_checkpoint_of_the_same_id(other: Checkpointer) -> None:
    """The one before was retracted; nothing else of the thread tells them apart."""
    closing = draft(clock, 3, "run/1", status=FAILED)
    await other.claim_and_commit("t", "other", 30, Commit(token=0, checkpoints=(closing,), retract=True, release=True))
    again = Commit(token=0, checkpoints=(draft(clock, 2, "run/3", Unset("state", "m"), status=SUSPENDED),), release=True)
    await other.claim_and_commit("t", "other", 30, again)


async def pruning(other: Checkpointer) -> None:
    await other.prune("t", RetentionPolicy(max_checkpoints=1, max_events=1))


async def compaction(other: Checkpointer) -> None:
    await other.compact_events("t", 3)


async def deletion(other: Checkpointer) -> None:
    await other.delete_thread("t")


async def a_new_thread_of_the_same_ids(other: Checkpointer) -> None:
    """As many checkpoints and events; only the content is another."""
    await other.delete_thread("t")
    for number, status in ((1, COMPLETED), (2, SUSPENDED)):
        made = draft(clock, number, "", Set("state", "k", b"2"), status=status)
        commit = Commit(token=0, checkpoints=(made,), events=(event(clock, "new"),), release=True)
        await other.claim_and_commit("t", "other", 30, commit)


BETWEEN = (
    nothing, another_turn, another_turn_under_other_names, a_claim_that_did_nothing, events_alone, pending_writes, an_edit, a_retraction,
    another_checkpoint_of_the_same_id, pruning, compaction, deletion, a_new_thread_of_the_same_ids,
)  # fmt: skip


@pytest.mark.parametrize("own", [True, False], ids=["here", "through another store"])
@pytest.mark.parametrize("between", BETWEEN, ids=lambda one: one.__name__)
async def test_a_claim_finds_what_came_between(store: SqliteCheckpointer, file: Path, between: Between, own: bool) -> None:
    """R6.19, R6.22, R6.23: the same as in a store that remembers nothing, whoever changed the thread meanwhile; and again afterwards."""
    plain = InMemoryCheckpointer(clock=clock)
    for one in (store, plain):
        await one.claim_and_commit("t", "run", 30, step(1, COMPLETED, release=True))
        await one.claim_and_commit("t", "run", 30, step(2, SUSPENDED, release=True))
    if own:
        await between(store)
    else:
        async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as other:
            await between(other)
    await between(plain)
    for number in (10, 20, 30):
        outcomes: list[Any] = []
        for one in (store, plain):
            head = await one.head("t")
            claim, records = await one.claim_and_commit("t", "run", 30, step(number, parent=head.checkpoint_id))
            further = await one.commit("t", step(number + 1, SUSPENDED, token=claim.token, release=True))
            after = await one.head("t")
            assert after.claim is None
            if number == 20:
                with pytest.raises(CheckpointConflict) as refused:
                    await one.claim_and_commit("t", "run", 30, step(number + 2, parent=head.checkpoint_id))
                assert refused.value.actual == after.checkpoint_id
            outcomes.append((records, further, await told(one)))
        assert outcomes[0] == outcomes[1]
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as cold:
        assert await told(cold) == await told(plain)
        assert cold._reader.call_now(lambda c: c.execute("SELECT count(*) FROM llm4s_write WHERE thread > 0").fetchone()) == (0,)


async def test_a_claim_of_another_is_respected(store: SqliteCheckpointer, file: Path) -> None:
    """R6.6, D8: live, expired without a commit, and expired after one."""
    await store.claim_and_commit("t", "run", 30, step(1, COMPLETED, release=True))
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as other:
        taken = await other.claim("t", "other", 30)
        with pytest.raises(ThreadBusy) as busy:
            await store.claim_and_commit("t", "run", 30, step(2))
        assert busy.value.holder == "other"
        clock.advance(31)
        claim, _ = await store.claim_and_commit("t", "run", 30, step(2))
        assert claim.token > taken.token
        await store.commit("t", step(3, SUSPENDED, token=claim.token, release=True))
        await other.claim_and_commit("t", "other", 30, step(4))
        with pytest.raises(ThreadBusy):
            await store.claim_and_commit("t", "run", 30, step(4))
        clock.advance(31)
        again, _ = await store.claim_and_commit("t", "run", 30, step(5))
        assert again.token > claim.token
        assert (await other.head("t")).token == again.token


async def test_a_refused_claim_leaves_nothing(store: SqliteCheckpointer) -> None:
    """R6.9, R6.23: neither a claim nor a commit, also where the thread is remembered; the next one works."""
    await store.claim_and_commit("t", "run", 30, step(1, SUSPENDED, release=True))
    before = await told(store)
    bad = Commit(token=0, checkpoints=(draft(clock, 2, "", Append("state", "n", (b"1",))),))
    for _ in range(2):
        with pytest.raises(InvalidCommit):
            await store.claim_and_commit("t", "run", 30, bad)
        assert (await store.head("t")).claim is None
        assert await told(store) == before
    claim, _ = await store.claim_and_commit("t", "run", 30, step(2))
    assert (await store.head("t")).token == claim.token


async def test_the_next_claim_reads_nothing(store: SqliteCheckpointer) -> None:
    """R6.23, D17: what this store wrote last it does not read again, and nothing for each entry that is parked."""
    parked = tuple(Set("parked", f"p{n}", LONG) for n in range(1000))
    counts: list[int] = []
    for thread, many in (("few", parked[:3]), ("many", parked)):

        async def turn(number: int, *patch: Any, thread: str = thread) -> None:
            claimed = draft(clock, number, "", Set("state", "n", b"1"), *patch, thread=thread)
            claim, _ = await store.claim_and_commit(thread, "run", 30, Commit(token=0, checkpoints=(claimed,)))
            closing = draft(clock, number + 1, "", Append("state", "m", (LONG,)), thread=thread, status=SUSPENDED)
            await store.commit(thread, Commit(token=claim.token, checkpoints=(closing,), release=True))

        await turn(1, *many)
        await turn(3, Unset("parked", "p0"))
        with statements(store) as ran:
            await turn(5, Unset("parked", "p1"))
        reads = [one for one in ran if one.startswith("SELECT")]
        assert not [one for one in reads if "llm4s_thread" in one or "llm4s_checkpoint" in one]
        counts.append(len(reads))
    assert counts == [1, 1]  # the number of the newest row


async def test_many_entries_are_remembered_of_the_last_threads_only(store: SqliteCheckpointer) -> None:
    """D17: what is known of threads stays small, however much was parked and answered on them."""
    parked = tuple(Set("parked", f"p{n}", LONG) for n in range(500))
    for thread in (*(f"t{n}" for n in range(20)), "t"):
        one = draft(clock, 1, "", *parked, thread=thread)
        await store.claim_and_commit(thread, "run", 30, Commit(token=0, checkpoints=(one,), release=True))
    known = store._writer._known
    assert len(known) == 21
    assert sorted(len(row.heads._found) for row in known.values())[12:] == [0] + [500] * 8
    more = tuple(Set("parked", f"q{n}", LONG) for n in range(5000))
    one = draft(clock, 2, "", *more, thread="t19")
    await store.claim_and_commit("t19", "run", 30, Commit(token=0, checkpoints=(one,), release=True))
    assert len(known["t19"].heads._found) <= 64
    for number in range(2, 202):
        one = draft(clock, number, "", Unset("parked", f"p{number}"), Set("state", f"s{number}", LONG))
        await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(one,), release=True))
        assert 300 <= len(known["t"].heads._found) <= 500
        assert not known["t"].texts
    latest = await store.latest("t")
    assert latest is not None
    assert len(latest.checkpoint.interrupts) == 300
    assert sum(section == "state" for section, _ in latest.checkpoint.entries) == 200


async def test_a_damaged_row_is_said_and_not_hidden(store: SqliteCheckpointer, file: Path) -> None:
    """R6.43: a checkpoint edited with another program fails the claim, and nothing is claimed."""
    await store.claim_and_commit("t", "run", 30, step(1, SUSPENDED, release=True))
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as cold:
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("UPDATE llm4s_checkpoint SET small = x'00'")
        other.close()
        with pytest.raises(Exception, match="cut off"):
            await cold.claim_and_commit("t", "run", 30, step(2))
        assert (await cold.head("t")).claim is None

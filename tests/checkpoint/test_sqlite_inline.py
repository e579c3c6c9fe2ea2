"""Commits and reads on the caller's own thread: when they are made, when not, and what an interrupt in the middle leaves (D18, D23)."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Append, Commit, RetentionPolicy, Set, SqliteCheckpointer, Unset
from llm4s_notebook.checkpoint._event import CheckpointCommitted, TaskCompleted
from llm4s_notebook.errors import CheckpointConflict, InvalidCommit, StaleClaim, StoreUnavailable
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import COMPLETED, FAILED, draft, event, write

clock = ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteCheckpointer]:
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as made:
        yield made


def step(number: int, token: int, thread: str = "t", **more: Any) -> Commit:
    """What a superstep commits, with something for every table."""
    text = b'"' + str(number).encode() * 100 + b'"'
    patch = (
        Unset("task", f"{number - 1}"),
        Set("task", f"{number}", b'{"input":' + text + b"}"),
        Append("state", "m", (text,)),
        Set("state", "n", str(number).encode()),
    )
    events = (event(clock, TaskCompleted()), event(clock, CheckpointCommitted(number)))
    return Commit(token=token, checkpoints=(draft(clock, number, "", *patch, thread=thread),), events=events, **more)


async def test_a_caller_who_is_alone_commits_itself(store: SqliteCheckpointer) -> None:
    """R6.9, R6.21: the number of the first event, and of the next one where there is none; the same state as through the queue."""
    claim = await store.claim("t", "run", 30)
    assert store.commit_now("t", step(1, claim.token)) == 1
    assert store.commit_now("t", step(2, claim.token)) == 3
    assert store.commit_now("t", Commit(token=claim.token, writes=(write("run/2"),))) == 5
    assert store.commit_now("t", Commit(token=claim.token, events=(event(clock),))) == 5
    await store._writer.call(lambda c: None)
    assert store.commit_now("t", step(3, claim.token, release=True)) == 6
    assert [one.sequence for one in await store.events_after("t", 0)] == [1, 2, 3, 4, 5, 6, 7]
    assert (await store.head("t")).claim is None
    with pytest.raises(StaleClaim):
        store.commit_now("t", step(4, claim.token))


async def test_a_refusal_is_raised_at_once_and_changes_nothing(store: SqliteCheckpointer) -> None:
    """R6.19: StaleClaim before CheckpointConflict before InvalidCommit; the store goes on."""
    claim = await store.claim("t", "run", 30)
    assert store.commit_now("t", step(1, claim.token)) == 1
    with pytest.raises(StaleClaim):
        store.commit_now("t", step(7, claim.token + 1))
    with pytest.raises(CheckpointConflict) as caught:
        store.commit_now("t", step(7, claim.token))
    assert (caught.value.expected, caught.value.actual) == ("run/6", "run/1")
    bad = draft(clock, 2, "", Append("state", "n", (b"1",)))
    with pytest.raises(InvalidCommit):
        store.commit_now("t", Commit(token=claim.token, checkpoints=(bad,)))
    assert store.commit_now("t", step(2, claim.token)) == 3


async def test_beside_another_run_commits_are_queued(store: SqliteCheckpointer) -> None:
    """D18: with two claims through one store, queued commits share a transaction; a claim that ran out does not count."""
    one = await store.claim("t", "run", 30)
    two = await store.claim("u", "run", 60)
    assert store.commit_now("t", step(1, one.token)) is None
    assert (await store.head("t")).checkpoint_id is None
    await store.commit("t", step(1, one.token))
    clock.advance(40)
    assert store.commit_now("u", step(1, two.token, "u")) == 1
    await store.release("u", two.token)
    assert store.commit_now("t", step(2, one.token)) == 3


async def test_nobody_waits_for_a_lock_of_another_process(file: Path) -> None:
    """R6.42: None at once; `commit` waits its time."""
    async with SqliteCheckpointer(file, busy_timeout=60, clock=clock) as store:
        claim = await store.claim("t", "run", 30)
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert store.commit_now("t", step(1, claim.token)) is None
            waiting = asyncio.create_task(store.commit("t", step(1, claim.token)))
            await asyncio.sleep(0.05)
            assert not waiting.done()
            assert store.commit_now("t", step(1, claim.token)) is None
            other.execute("ROLLBACK")
            await waiting
        assert store.commit_now("t", step(2, claim.token)) == 3


async def test_nobody_waits_for_the_writing_thread(store: SqliteCheckpointer) -> None:
    """D18: while it is busy, a commit is not made here; nor when the caller would overtake what is queued."""
    claim = await store.claim("t", "run", 30)
    busy, go = threading.Event(), threading.Event()

    def work(connection: sqlite3.Connection) -> None:
        busy.set()
        go.wait(30)

    holding = asyncio.create_task(store._writer.call(work))
    await asyncio.to_thread(busy.wait, 30)
    assert store.commit_now("t", step(1, claim.token)) is None
    go.set()
    await holding
    assert store.commit_now("t", step(1, claim.token)) == 1


async def test_what_takes_long_is_not_done_here(store: SqliteCheckpointer) -> None:
    """R6.36: a retraction takes text out of the file; many changes take their time."""
    claim = await store.claim("t", "run", 30)
    many = tuple(Set("state", f"{n}", b"1") for n in range(65))
    assert store.commit_now("t", Commit(token=claim.token, checkpoints=(draft(clock, 1, None, *many),))) is None
    writes = tuple(write("run/1", f"{n}") for n in range(65))
    assert store.commit_now("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),), writes=writes)) is None
    closing_one = draft(clock, 1, None, status=FAILED)
    assert store.commit_now("t", Commit(token=claim.token, checkpoints=(closing_one,), retract=True)) is None
    assert await store.latest("t") is None


async def test_a_closed_store_does_nothing_here(store: SqliteCheckpointer) -> None:
    """6.2: `commit` then says that it is closed."""
    claim = await store.claim("t", "run", 30)
    await store.aclose()
    assert store.commit_now("t", step(1, claim.token)) is None
    with pytest.raises(StoreUnavailable):
        await store.commit("t", step(1, claim.token))


async def test_what_is_long_is_read_elsewhere(store: SqliteCheckpointer) -> None:
    """D23: reading more than a few hundred rows does not hold up the caller's loop; it says the same."""
    claim = await store.claim("t", "run", 30)
    items = tuple(f"{n}".encode() for n in range(2000))
    await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1, None, Append("state", "m", items)),)))
    ran: list[str] = []
    for lane in (store._reader, store._writer):
        lane.call_now(lambda c: c.set_trace_callback(lambda _: ran.append(threading.current_thread().name)))
    here = threading.current_thread().name
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.entries == {("state", "m"): list(items)}
    assert ran[-1] == "llm4s-reader"
    await store.head("t")
    assert ran[-1] == here
    assert len(await store.threads()) == 1
    assert ran[-1] == here
    asked = tuple(Set("parked", f"{n}", b"%d" % n) for n in range(2000))
    await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, "", *asked),)))
    [listed] = await store.threads()
    assert [one.record for one in listed.waiting] == list(items)
    assert ran[-1] == "llm4s-reader"


async def test_a_read_beside_a_busy_writing_thread_takes_the_other_connection(store: SqliteCheckpointer) -> None:
    """D23: it waits for nobody, and sees what is durable."""
    await store.claim("t", "run", 30)
    busy, go = threading.Event(), threading.Event()

    def held_up(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE llm4s_thread SET status = 3")
        busy.set()
        go.wait(30)

    holding = asyncio.create_task(store._writer.call(held_up))
    await asyncio.to_thread(busy.wait, 30)
    assert (await store.head("t")).status is None
    assert await store.latest("t") is None
    assert await store.threads() == []
    go.set()
    await holding
    assert (await store.head("t")).status is FAILED


# -- known state -------------------------------------------------------------------------------------------------------


async def test_what_others_did_to_the_thread_meanwhile_is_seen(file: Path, store: SqliteCheckpointer) -> None:
    """R6.19, R6.22, D8: another store took the thread over, pruned it, deleted it; nothing is written from what was known before."""
    claim = await store.claim("t", "run", 30)
    for number in range(1, 6):
        assert store.commit_now("t", step(number, claim.token)) is not None
    async with SqliteCheckpointer(file, synchronous="normal", clock=clock) as other:
        await other.prune("t", RetentionPolicy(max_checkpoints=1, max_events=1))
        assert store.commit_now("t", step(6, claim.token)) == 11
        latest = await other.latest("t")
        assert latest is not None
        assert len(latest.checkpoint.entries[("state", "m")]) == 6
        await other.compact_events("t", 12)
        assert store.commit_now("t", step(7, claim.token)) == 13
        assert [one.sequence for one in await other.events_after("t", 11)] == [12, 13, 14]
        clock.advance(31)
        taken = await other.claim("t", "another", 30)
        await other.commit("t", step(8, taken.token))
        with pytest.raises(StaleClaim):
            store.commit_now("t", step(8, claim.token))
        await other.delete_thread("t")
        with pytest.raises(StaleClaim):
            store.commit_now("t", step(8, claim.token))
        again, _ = await store.claim_and_commit("t", "run", 30, step(1, 0))
        await other.delete_thread("t")
        with pytest.raises(StaleClaim):
            store.commit_now("t", step(2, again.token))
    assert await store.latest("t") is None


# -- interrupts --------------------------------------------------------------------------------------------------------


class Interrupting:
    """Raises KeyboardInterrupt at the n-th step that the calling thread takes in the room, once: between any two bytecodes of the
    code that takes and leaves the connection, and at each line of the rest."""

    def __init__(self, at: int) -> None:
        self.left = at

    def trace(self, frame: FrameType, what: str, _: object) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if "checkpoint" not in name or "tests" in name:
            return None
        if name.endswith(("_lane.py", "_writer.py")):
            frame.f_trace_opcodes = True
        if what != "exception":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.trace if self.left > 0 else None

    def call(self, work: Callable[[], Any]) -> bool:
        """True if it was interrupted."""
        before = sys.gettrace()
        gc.disable()  # an interrupt in the finalizer of a store that another test left would reach nobody
        sys.settrace(self.trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
            gc.enable()
        return False


async def test_an_interrupt_at_any_step_leaves_a_commit_done_or_not_begun(store: SqliteCheckpointer, file: Path) -> None:
    """R6.9, R8.14: the file holds the state before or the state after; the lock is free for the thread and for other processes;
    given once more, the commit succeeds, or is known to be done by its own id."""
    claim = await store.claim("t", "run", 3600)
    done_in_spite = not_begun = 0
    at = number = 0
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
        while True:
            at += 1
            number += 1
            commit = step(number, claim.token)
            if not Interrupting(at).call(lambda commit=commit: store.commit_now("t", commit)):
                break
            other.execute("BEGIN IMMEDIATE")  # nobody holds the file's lock
            other.execute("ROLLBACK")
            if (await store.head("t")).checkpoint_id == f"run/{number}":
                with pytest.raises(CheckpointConflict) as known:
                    store.commit_now("t", commit)
                assert known.value.actual == f"run/{number}"
                done_in_spite += 1
            else:
                assert store.commit_now("t", commit) == 2 * number - 1
                not_begun += 1
            if at % 10 == 0:
                await asyncio.wait_for(store.renew("t", claim.token, 3600), 30)  # the writing thread can work, too
    assert not_begun > 300
    assert done_in_spite > 5
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.id == f"run/{number}"
    assert latest.checkpoint.entries[("state", "m")] == [b'"' + str(n).encode() * 100 + b'"' for n in range(1, number + 1)]
    assert [one.sequence for one in await store.events_after("t", 0, 100_000)] == list(range(1, 2 * number + 1))
    history = await store.history("t", limit=100_000)
    assert [one.id for one in history] == [f"run/{n}" for n in range(number, 0, -1)]
    assert all(
        one.entries[("task", f"{number - n}")] == b'{"input":"' + str(number - n).encode() * 100 + b'"}' for n, one in enumerate(history)
    )


async def test_an_interrupt_while_a_refusal_is_said_frees_everything(store: SqliteCheckpointer, file: Path) -> None:
    """R6.9: also between the refusal and its undoing."""
    claim = await store.claim("t", "run", 3600)
    assert store.commit_now("t", step(1, claim.token)) == 1
    at = 0
    with closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as other:
        while True:
            at += 1
            try:
                if not Interrupting(at).call(lambda: store.commit_now("t", step(5, claim.token))):
                    break
            except CheckpointConflict:
                break
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
            if at % 10 == 0:
                await asyncio.wait_for(store.renew("t", claim.token, 3600), 30)
    assert at > 200
    assert store.commit_now("t", step(2, claim.token)) == 3


async def test_an_interrupted_claim_or_read_leaves_the_store_usable(store: SqliteCheckpointer) -> None:
    """R6.6, R6.23: a claim made just before is found, and can be released; a read leaves nothing."""
    first = await store.claim("t", "run", 3600)
    assert store.commit_now("t", step(1, first.token, release=True)) == 1

    def now(call: Any) -> Any:
        """Drive a coroutine that waits for nothing but the loop's next turn."""
        try:
            while call.send(None) is None:
                pass
        except StopIteration as ended:
            return ended.value
        finally:
            call.close()
        raise AssertionError("it waits")

    for read in (lambda: store.head("t"), lambda: store.latest("t"), store.threads):
        at = 0
        while True:
            at += 1
            if not Interrupting(at).call(lambda read=read: now(read())):
                break
            if at % 10 == 0:
                assert len(await asyncio.wait_for(store.history("t"), 30)) == 1  # through the reading thread
        assert at > 100
    at, number = 0, 1
    while True:
        at += 1
        number += 1
        commit = Commit(token=0, checkpoints=(draft(clock, number, status=COMPLETED),), release=at % 2 == 0)
        interrupted = Interrupting(at).call(lambda commit=commit: now(store.claim_and_commit("t", "run", 3600, commit)))
        head = await store.head("t")
        if head.claim is not None:
            assert head.checkpoint_id == f"run/{number}"
            await store.release("t", head.claim.token)
        if any(one() for one in store._claimants.coming.values()):
            gc.collect()  # the frame that was interrupted
        assert not any(one() for one in store._claimants.coming.values())
        if not interrupted:
            break
        if head.checkpoint_id != f"run/{number}":
            number -= 1
    assert at > 200
    assert number > 5


async def test_a_claim_that_was_announced_waits_for_others_only(store: SqliteCheckpointer) -> None:
    """D18: alone it is written at once; where others are coming, or nobody knows, one turn of the loop is waited; one that never came is
    forgotten."""
    turns: list[int] = []

    def claims(number: int, thread: str) -> None:
        call = store.claim_and_commit(
            thread, "run", 3600, Commit(token=0, checkpoints=(draft(clock, number, thread=thread),), release=True)
        )
        turns.append(0)
        try:
            while call.send(None) is None:
                turns[-1] += 1
        except StopIteration:
            return

    claims(1, "t")
    announced = store.expecting("t")
    claims(2, "t")
    announced, others = store.expecting("t"), store.expecting("u")
    claims(3, "t")
    assert turns == [1, 0, 1]
    claims(1, "u")
    del others
    announced = store.expecting("t")
    claims(4, "t")
    never = store.expecting("v")
    del never
    announced = store.expecting("t")
    claims(5, "t")
    assert turns[3:] == [0, 0, 0]
    assert announced is not None
    assert not store._claimants.coming

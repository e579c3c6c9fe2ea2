"""One file, several processes (D8): they continue each other's threads, race for them, and outlive each other."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from llm4s_notebook.checkpoint import Append, Commit, Set, SqliteCheckpointer, SystemClock
from llm4s_notebook.checkpoint._event import RunStarted
from llm4s_notebook.checkpoint._sqlite._process import ProcessMark, provably_dead, this_process
from llm4s_notebook.errors import StoreUnavailable, ThreadBusy
from llm4s_notebook.testing._making import FAILED, RUNNING, SUSPENDED, draft

clock = SystemClock()
ROOT = Path(__file__).parents[2]


@contextmanager
def child(what: str, file: Path, *rest: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.checkpoint._child", what, str(file), *rest],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.stdin and not process.stdin.closed:
            process.stdin.close()
        try:
            process.wait(30)
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


async def line(process: subprocess.Popen[str]) -> str:
    pipe: IO[str] | None = process.stdout
    assert pipe is not None
    return (await asyncio.to_thread(pipe.readline)).strip()


def tell(process: subprocess.Popen[str], text: str = "go") -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


def content_of(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in sorted(folder.iterdir()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


async def test_another_process_continues_a_suspended_thread(file: Path) -> None:
    """R8.12, SQL-01: its claim was released with the pause, so a second process takes it up at once; this one sees what came of it."""
    async with SqliteCheckpointer(file) as store:
        paused = draft(clock, 1, None, Append("state", "m", (b'"parent"',)), Set("parked", "0.0", b"{}"), status=SUSPENDED)
        await store.claim_and_commit("t", "parent", 30, Commit(token=0, checkpoints=(paused,), release=True))
        waiting = asyncio.create_task(store.wait_events_after("t", 0, timeout=60))
        with child("go_on", file) as process:
            assert await line(process) == "[b'\"parent\"']"
            events = await waiting  # R6.14, R7.12: a commit of another process ends the wait
        assert [one.event for one in events] == [RunStarted("child")]
        latest = await store.latest("t")
        assert latest is not None
        assert (latest.checkpoint.id, latest.checkpoint.status) == ("run/2", RUNNING)
        assert latest.checkpoint.entries[("state", "m")] == [b'"parent"', b'"child"']


async def test_of_two_processes_that_claim_at_once_exactly_one_wins(file: Path) -> None:
    """R6.22, R6.23, SQL-03: fifty rounds behind a barrier; the loser is refused and nothing of it is stored."""
    rounds = 50
    async with SqliteCheckpointer(file, synchronous="normal") as store:
        with child("race", file, "a", str(rounds)) as a, child("race", file, "b", str(rounds)) as b:
            for number in range(rounds):
                assert [await line(a), await line(b)] == ["ready", "ready"]
                first, second = (a, b) if number % 4 < 2 else (b, a)
                tell(first)
                tell(second)
                said = {"a": await line(a), "b": await line(b)}
                winners = [name for name, word in said.items() if word == "won"]
                assert len(winners) == 1, said
                loser = next(word for word in said.values() if word != "won")
                assert loser == ("CheckpointConflict" if number % 2 == 0 else "ThreadBusy")
                latest = await store.latest(f"t{number}")
                assert latest is not None
                assert latest.checkpoint.entries == {("state", "m"): [f'"{winners[0]}"'.encode()]}
                events = await store.events_after(f"t{number}", 0)
                assert [one.event for one in events] == [RunStarted(winners[0])]


async def test_the_claim_of_a_killed_process_is_replaced_at_once(file: Path) -> None:
    """D8: SIGKILL while it holds the thread for an hour; as long as it lives, it is respected. Its checkpoint is there (R8.12).

    Where the platform does not tell processes apart only the lease decides, and the thread stays held.
    """
    async with SqliteCheckpointer(file) as store:
        with child("hold", file) as process:
            token = int(await line(process))
            with pytest.raises(ThreadBusy) as caught:
                await store.claim("t", "other", 30)
            assert (caught.value.holder, caught.value.checkpoint_id) == ("child", "run/1")
            process.send_signal(signal.SIGKILL)
            assert await asyncio.to_thread(process.wait, 30) == -signal.SIGKILL
        if this_process() is None:
            with pytest.raises(ThreadBusy):
                await store.claim("t", "other", 30)
            return
        head = await store.head("t")
        assert (head.checkpoint_id, head.status, head.claim) == ("run/1", RUNNING, None)
        claim = await store.claim("t", "other", 30)
        assert claim.token > token


async def test_a_live_claim_of_this_very_process_is_respected(file: Path) -> None:
    """D8: two stores of one process are two holders like any others."""
    async with SqliteCheckpointer(file) as one, SqliteCheckpointer(file) as two:
        await one.claim("t", "run", 30)
        with pytest.raises(ThreadBusy):
            await two.claim("t", "run", 30)


async def test_a_lock_held_elsewhere_is_waited_for_and_then_refused(file: Path) -> None:
    """R6.42: after the busy timeout StoreUnavailable with path and reason and nothing changed; reads go on; later all is well."""
    async with SqliteCheckpointer(file, busy_timeout=0.1) as store:
        claim, _ = await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(draft(clock, 1),)))
        with child("lock", file) as process:
            assert await line(process) == "locked"
            with pytest.raises(StoreUnavailable) as caught:
                await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),)))
            assert caught.value.path == str(file)
            assert "locked" in caught.value.reason
            assert "0.1 s" in caught.value.reason
            assert (await store.head("t")).checkpoint_id == "run/1"
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),)))
        assert [one.id for one in await store.history("t")] == ["run/2", "run/1"]


async def test_a_commit_waits_for_a_lock_that_is_given_back_in_time(file: Path) -> None:
    """R6.42: within the busy timeout it is no error at all."""
    async with SqliteCheckpointer(file, busy_timeout=60) as store:
        claim = await store.claim("t", "run", 30)
        with child("lock", file) as process:
            assert await line(process) == "locked"
            waiting = asyncio.create_task(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),))))
            assert await store.latest("t") is None
            assert not waiting.done()
        await waiting
        assert (await store.head("t")).checkpoint_id == "run/1"


async def test_retracted_text_leaves_the_log_when_another_reader_ends(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """R6.36, D17: a process that reads just now keeps the log alive; the retraction stands, a warning is given, and it is tried again."""
    async with SqliteCheckpointer(file, synchronous="normal") as store:
        leaking = draft(clock, 1, None, Set("state", "a", b'"the secret word"'))
        claim, _ = await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(leaking,)))
        with child("read", file) as process:
            assert await line(process) == "reading"
            await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, None, status=FAILED),), retract=True))
            assert [one.id for one in await store.history("t")] == ["run/2"]
            assert "removed text" in caplog.text
        folder = file.parent
        end = time.monotonic() + 30
        while any(b"the secret word" in one.read_bytes() for one in folder.iterdir()):
            assert time.monotonic() < end
            await asyncio.sleep(0.01)


async def test_whoever_opens_the_file_next_finishes_a_removal(file: Path) -> None:
    """R6.36, D17: the retracting process is killed while a reader keeps the log alive; opening the file takes the text out."""
    with child("retract", file) as process:
        assert await line(process) == "stored"
        with child("read", file) as reader:
            assert await line(reader) == "reading"
            tell(process)
            assert await line(process) == "retracted"
            process.kill()
            await asyncio.to_thread(process.wait, 30)
            assert b"the secret word" in content_of(file.parent)
    async with SqliteCheckpointer(file) as store:
        assert b"the secret word" not in content_of(file.parent)
        assert [one.id for one in await store.history("t")] == ["run/2"]


async def test_queued_commits_are_written_when_the_interpreter_ends(file: Path) -> None:
    """D23: a process that ends without closing its store loses nothing that was queued, and ends by itself."""
    with child("drop", file) as process:
        assert int(await line(process)) > 0
        assert await asyncio.to_thread(process.wait, 30) == 0
    async with SqliteCheckpointer(file) as store:
        assert [one.id for one in await store.history("t")] == ["run/2", "run/1"]


async def test_several_processes_create_one_file_at_once(file: Path) -> None:
    """R6.43: each opens it; one of them made the tables."""
    with child("create", file) as a, child("create", file) as b, child("create", file) as c:
        Path(f"{file}.go").touch()  # noqa: ASYNC240 - one small file
        assert [await line(one) for one in (a, b, c)] == ["opened"] * 3


def _in_a_fork(store: SqliteCheckpointer, answers: multiprocessing.SimpleQueue[str]) -> None:
    async def calls() -> None:
        for call in (store.head("t"), store.claim("t", "r", 30), store.aclose()):
            try:
                await call
            except StoreUnavailable as refusal:
                answers.put(refusal.reason)
            else:
                answers.put("no error")

    asyncio.run(calls())
    again = SqliteCheckpointer(store.location or "")
    answers.put(str(asyncio.run(again.head("t")).checkpoint_id))
    asyncio.run(again.aclose())


def test_a_forked_child_is_told_to_open_the_file_itself(file: Path) -> None:
    """D23: each call of the inherited store says so; a store of its own works; the parent's goes on."""
    store = SqliteCheckpointer(file)
    claim, _ = asyncio.run(store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(draft(clock, 1),))))
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    process = context.Process(target=_in_a_fork, args=(store, answers))
    process.start()
    process.join(30)
    assert process.exitcode == 0
    said = [answers.get() for _ in range(4)]
    assert all("fork" in one for one in said[:3])
    assert said[3] == "run/1"
    asyncio.run(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),))))
    asyncio.run(store.aclose())


def test_a_process_is_dead_only_if_that_is_certain() -> None:
    """D8: another boot, another pid namespace, a text that is no mark - in doubt the lease decides."""
    here = this_process()
    if here is None:
        assert sys.platform != "linux"
        return
    assert ProcessMark.from_text(here.to_text()) == here
    assert not provably_dead(here)
    assert provably_dead(ProcessMark(here.boot, here.namespace, here.pid, here.start + 1))  # the pid was given to another process
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pid = gone.pid
        assert gone.wait(30) == 0
    assert provably_dead(ProcessMark(here.boot, here.namespace, pid, here.start))
    assert not provably_dead(ProcessMark("another-boot", here.namespace, pid, here.start))
    assert not provably_dead(ProcessMark(here.boot, "pid:[1]", pid, here.start))
    for text in ("", "a b c", "a b x 1", "a b 1 2 3"):
        assert ProcessMark.from_text(text) is None


def test_a_process_that_ended_but_was_not_collected_is_dead() -> None:
    """D8: a zombie holds nothing any more."""
    here = this_process()
    if here is None:
        assert sys.platform != "linux"
        return
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        start = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        assert provably_dead(ProcessMark(here.boot, here.namespace, pid, start))
    finally:
        os.waitpid(pid, 0)

"""What the second process of a test does: `python -m tests.checkpoint._child <what> <file> …`; answers are lines on stdout."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from pathlib import Path

from llm4s_notebook.checkpoint import Append, Commit, Set, SqliteCheckpointer, SystemClock
from llm4s_notebook.checkpoint._event import RunStarted
from llm4s_notebook.errors import CheckpointConflict, ThreadBusy
from llm4s_notebook.testing._making import FAILED, SUSPENDED, draft, event

clock = SystemClock()


def say(text: object) -> None:
    print(text, flush=True)


async def go_on(path: str) -> None:
    """Read the suspended thread, take it up and commit on top of it."""
    async with SqliteCheckpointer(path) as store:
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.status is SUSPENDED
        say(latest.checkpoint.entries[("state", "m")])
        commit = Commit(
            token=0,
            checkpoints=(draft(clock, 2, "run/1", Append("state", "m", (b'"child"',))),),
            events=(event(clock, RunStarted("child")),),
            release=True,
        )
        await store.claim_and_commit("t", "child", 30, commit)


async def hold(path: str) -> None:
    """Claim the thread and stay alive until killed."""
    async with SqliteCheckpointer(path) as store:
        claim, _ = await store.claim_and_commit("t", "child", 3600, Commit(token=0, checkpoints=(draft(clock, 1),)))
        say(claim.token)
        await asyncio.sleep(3600)


async def race(path: str, name: str, rounds: int) -> None:
    """Round for round, at the word of the parent, claim and commit the same checkpoint; say who won."""
    async with SqliteCheckpointer(path, synchronous="normal") as store:
        for number in range(rounds):
            thread = f"t{number}"
            commit = Commit(
                token=0,
                checkpoints=(draft(clock, 1, None, Append("state", "m", (f'"{name}"'.encode(),)), thread=thread),),
                events=(event(clock, RunStarted(name)),),
                release=number % 2 == 0,  # the loser meets a held thread, or one that has moved on
            )
            say("ready")
            sys.stdin.readline()
            try:
                await store.claim_and_commit(thread, name, 30, commit)
            except (ThreadBusy, CheckpointConflict) as refusal:
                say(type(refusal).__name__)
            else:
                say("won")


def lock(path: str) -> None:
    """Hold the writer lock until stdin ends."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    say("locked")
    sys.stdin.read()
    connection.execute("ROLLBACK")


def read(path: str) -> None:
    """Hold a read transaction until stdin ends."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM llm4s_row").fetchone()
    say("reading")
    sys.stdin.read()
    connection.execute("COMMIT")


async def drop(path: str) -> None:
    """Commit without closing anything: the interpreter ends with the store open."""
    store = SqliteCheckpointer(path)
    claim, _ = await store.claim_and_commit("t", "child", 30, Commit(token=0, checkpoints=(draft(clock, 1),)))
    say(claim.token)
    asyncio.create_task(store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),))))  # noqa: RUF006 - nobody awaits it, that is the case
    await asyncio.sleep(0)


async def retract(path: str) -> None:
    """Retract a turn while somebody else reads, and stay alive until killed."""
    async with SqliteCheckpointer(path) as store:
        claim, _ = await store.claim_and_commit(
            "t", "child", 30, Commit(token=0, checkpoints=(draft(clock, 1, None, Set("state", "a", b'"the secret word"')),))
        )
        say("stored")
        sys.stdin.readline()
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, None, status=FAILED),), retract=True))
        say("retracted")
        await asyncio.sleep(3600)


def create(path: str) -> None:
    """Open a file that does not exist yet at the same moment as others do."""
    while not Path(path + ".go").exists():
        time.sleep(0.001)
    asyncio.run(SqliteCheckpointer(path).aclose())
    say("opened")


if __name__ == "__main__":
    what, file, *rest = sys.argv[1:]
    match what:
        case "go_on":
            asyncio.run(go_on(file))
        case "hold":
            asyncio.run(hold(file))
        case "race":
            asyncio.run(race(file, rest[0], int(rest[1])))
        case "drop":
            asyncio.run(drop(file))
        case "retract":
            asyncio.run(retract(file))
        case "lock":
            lock(file)
        case "read":
            read(file)
        case "create":
            create(file)
        case _:
            sys.exit(f"unknown: {what}")

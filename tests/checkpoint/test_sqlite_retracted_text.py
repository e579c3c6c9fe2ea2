"""Retracted text is gone from the file, its log and the log's index, whatever else was on the same pages (R6.36, D17)."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Append, CheckpointStatus, Commit, PatchOp, RetentionPolicy, Set, SqliteCheckpointer, Unset
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import COMPLETED, FAILED, RUNNING, SUSPENDED, draft, write

MARK = re.compile(rb"S\d{6}E")
USUAL = ("append", "append", "set", "set", "unset", "replace", "answer", "answer")
ASKING = ("append", "set", "park", "park", "park", "park", "park", "unpark")


class Turns:
    """Random turns of several threads on one store, which notes the words of each turn."""

    def __init__(self, store: SqliteCheckpointer, folder: Path, seed: int, operations: tuple[str, ...]) -> None:
        self.store, self.folder, self.operations = store, folder, operations
        self.clock = ManualClock()
        self.chance = random.Random(seed)
        self.count = 0
        self.tokens: dict[str, int] = {}
        self.number: dict[str, int] = {}
        self.settled: dict[str, str | None] = {}
        self.turn: dict[str, set[bytes]] = {}
        self.tasks: dict[str, dict[str, bytes]] = {}  # of the turn
        self.gone: set[bytes] = set()

    def text(self, thread: str) -> bytes:
        self.count += 1
        word = f"S{self.count:06d}E".encode()
        self.turn[thread].add(word)
        return b'"' + word + b"z" * self.chance.choice([0, 5, 100, 900, 3000, 9000]) + b'"'

    async def play(self) -> int:
        """Returns how many turns were retracted."""
        chance, retracted = self.chance, 0
        for name in range(chance.randint(1, 4)):
            thread = f"t{name}"
            self.tokens[thread] = (await self.store.claim(thread, "run", 30)).token
            self.number[thread], self.settled[thread], self.turn[thread], self.tasks[thread] = 0, None, set(), {}
        for _ in range(100):
            thread = chance.choice(list(self.tokens))
            self.number[thread] += 1
            if chance.random() < 0.12:
                await self.retract(thread)
                retracted += 1
            else:
                await self.go_on(thread)
        return retracted

    async def retract(self, thread: str) -> None:
        closing = draft(self.clock, self.number[thread], self.settled[thread], thread=thread, status=FAILED)
        await self.store.commit(thread, Commit(token=self.tokens[thread], checkpoints=(closing,), retract=True))
        self.gone |= self.turn[thread]
        self.end_turn(thread)
        assert not self.gone & set(MARK.findall(content_of(self.folder)))

    async def go_on(self, thread: str) -> None:
        chance, number = self.chance, self.number[thread]
        ends = chance.random() < 0.15
        patch: list[PatchOp] = []
        seen: list[bytes] = []
        for _ in range(chance.choice([1, 1, 2, 3, 30])):
            tasks = self.tasks[thread]
            match chance.choice(self.operations):
                case "answer" if tasks:  # the task's input becomes an item, and both are in the journal: stored once
                    name = chance.choice(list(tasks))
                    given = tasks.pop(name)
                    patch += (Append("state", "m", (given,)), Unset("task", name))
                    seen.append(given)
                case "append":
                    patch.append(Append("state", "m", (self.text(thread),)))
                case "set":
                    name = f"{chance.randint(0, 8)}"
                    tasks[name] = self.text(thread)
                    patch.append(Set("task", name, b'{"input":' + tasks[name] + b"}"))
                case "park":
                    patch.append(Set("parked", f"{chance.randint(0, 80)}", self.text(thread)))
                case "unpark":
                    patch.append(Unset("parked", f"{chance.randint(0, 80)}"))
                case "replace":
                    patch.append(Set("state", "v", self.text(thread)))
                case _:
                    name = f"{chance.randint(0, 8)}"
                    tasks.pop(name, None)
                    patch.append(Unset("task", name))
        made = draft(self.clock, number, "", *patch, thread=thread, status=COMPLETED if ends else RUNNING)
        made = made.replaced(
            header=made.header.replaced(body=self.text(thread), journal=b"[" + b",".join([self.text(thread), *seen, *seen]) + b"]")
        )
        writes = tuple(write(f"run/{number}", f"{n}", self.text(thread)) for n in range(chance.choice([0, 0, 1, 20])))
        await self.store.commit(thread, Commit(token=self.tokens[thread], checkpoints=(made,), writes=writes))
        if ends:
            self.end_turn(thread)

    def end_turn(self, thread: str) -> None:
        self.settled[thread] = f"run/{self.number[thread]}"
        self.turn[thread] = set()
        self.tasks[thread] = {}


def content_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


@pytest.mark.parametrize(
    ("operations", "seed"),
    [*[(USUAL, seed) for seed in (7, 26, 47, 54, 101, 116)], *[(ASKING, seed) for seed in (41, 106)]],
)
async def test_retracted_turns_of_interleaved_threads_leave_no_text(tmp_path: Path, operations: tuple[str, ...], seed: int) -> None:
    """R6.36, D17: texts of all sizes, several threads on the same pages, writes, closed rows and questions between - and never a trace.

    With these seeds a store that deletes rows instead of emptying them fails, and one that puts the rows of a thread together: pages
    that merge or split keep copies of their neighbours.
    """
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal") as store:
        turns = Turns(store, tmp_path, seed, operations)
        assert await turns.play() > 3
        assert turns.gone


async def test_a_question_is_gone_with_what_held_it(tmp_path: Path) -> None:
    """R6.37, R6.17: an answered question goes with the last checkpoint of it, a waiting one with its thread; the room is used again."""
    clock, large = ManualClock(), b"z" * 200_000
    async with SqliteCheckpointer(tmp_path / "threads.db", synchronous="normal", clock=clock) as store:

        async def commit(token: int, number: int, *patch: PatchOp, status: CheckpointStatus = SUSPENDED) -> None:
            await store.commit("t", Commit(token=token, checkpoints=(draft(clock, number, "", *patch, status=status),)))

        token = (await store.claim("t", "run", 30)).token
        asked = [Set("parked", f"{n}", b'"S%06dE%b"' % (n, large)) for n in range(10)]
        await commit(token, 1, *asked)
        await commit(token, 2, Unset("parked", "3"))
        await commit(token, 3, status=RUNNING)
        assert b"S000003E" in content_of(tmp_path)
        await store.prune("t", RetentionPolicy(max_checkpoints=1))
        assert b"S000003E" not in content_of(tmp_path)
        left = [one.value for one in asked if one.name != "3"]
        assert [one.record for one in (await store.threads())[0].waiting] == left
        latest = await store.latest("t")
        assert latest is not None
        assert list(latest.checkpoint.entries.values()) == left
        before = (tmp_path / "threads.db").stat().st_size
        await store.delete_thread("t")
        assert not MARK.search(content_of(tmp_path))
        assert (tmp_path / "threads.db").stat().st_size < before / 10
        token = (await store.claim("t", "run", 30)).token
        await commit(token, 1, *asked)
        assert len((await store.threads())[0].waiting) == 10

"""A Ctrl-C that comes while a commit is made on the loop's own thread: what it takes from the run, and nothing else (R8.15)."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus, Commit, EventRecord, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import RunError
from llm4s_notebook.graph import Durability, GraphRuntime, RunConfig

from .graphs import chain, names, output

SYNC, ASYNC, ON_EXIT = Durability.SYNC, Durability.ASYNC, Durability.ON_EXIT
NODES = ["start", "middle", "end"]
"""Each a superstep; the third one's checkpoint goes with the closing commit."""


@pytest.fixture(autouse=True)
def tasks_told_of() -> Iterator[None]:
    """asyncio logs the interrupt of a task once more when the task is forgotten; here, and not in the middle of something else."""
    yield
    gc.collect()


class Interrupted:
    """Raises KeyboardInterrupt in commit number `at` (the claim's is not counted), once: before it is begun or after it is done."""

    def __init__(self, *arguments: Any, at: int, after: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.at, self.after = at, after
        self.count = 0

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        self.count += 1
        due = self.count == self.at
        if due and not self.after:
            raise KeyboardInterrupt
        done = await super().commit(thread_id, commit)  # type: ignore[misc]  # a real store stands behind
        if due:
            raise KeyboardInterrupt
        return done


class InterruptedStore(Interrupted, InMemoryCheckpointer):
    """In memory."""


class InterruptedFile(Interrupted, SqliteCheckpointer):
    """On disk."""


def run_elsewhere(runtime: GraphRuntime, graph: Any, config: RunConfig) -> tuple[int, str]:
    """On a loop that goes on afterwards, as a kernel's does: how many interrupts came through it, and how the run ended."""
    loop = asyncio.new_event_loop()

    async def run() -> str:
        handle = await runtime.start("t", graph, 1, config)
        try:
            return type(await handle).__name__
        except RunError as error:
            return type(error).__name__

    running, interrupts = loop.create_task(run()), 0
    while not running.done():
        try:
            loop.run_until_complete(running)
        except KeyboardInterrupt:
            interrupts += 1
    loop.close()
    return interrupts, running.result()


@pytest.mark.parametrize("kind", [InterruptedStore, InterruptedFile])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("durability", "at"), [*((mode, at) for mode in (SYNC, ASYNC) for at in (1, 2, 3)), (ON_EXIT, 1)])
async def test_what_an_interrupted_commit_was_to_write_is_run_again(
    kind: Any, durability: Durability, after: bool, at: int, tmp_path: Path
) -> None:
    """R8.15, R8.3, R8.10: nothing of the commit is half there, what was committed before is not run again, and the turn ends as it
    would have ended."""
    store: Any = kind(at=at, after=after) if kind is InterruptedStore else kind(tmp_path / "t.db", at=at, after=after)
    async with store:
        runtime, made = GraphRuntime(store), chain()
        interrupts, ended = await asyncio.to_thread(run_elsewhere, runtime, made.graph, RunConfig(durability=durability))
        assert interrupts == 1
        closing = at == 3 or durability is ON_EXIT
        behind = durability is ASYNC and not closing  # a writer of its own is interrupted; the run finds out when it closes
        assert ended == ("RunCancelled" if not behind else "Completed" if after else "CheckpointWriteFailed")
        kept = len(NODES) if after and (closing or behind) else 0 if durability is ON_EXIT else at - (not after)
        head = await store.head("t")
        told = await names(store)
        assert head.claim is None
        assert told.count("TaskCompleted") == told.count("CheckpointCommitted") == kept
        if kept < len(NODES):
            assert head.status is CheckpointStatus.RUNNING
            assert (told[-1] == "RunCancelled") is not behind
            assert output(await (await runtime.recover("t", made.graph))) == NODES
        assert (await store.head("t")).status is CheckpointStatus.COMPLETED
        assert [made.ran[node] for node in NODES[:kept]] == [1] * kept
        if not after:
            assert made.ran[NODES[kept]] == 2  # the one whose commit was interrupted
        records = await store.events_after("t", 0)
        assert [one.sequence for one in records] == list(range(1, len(records) + 1))
        told = await names(store)
        assert told.count("TaskCompleted") == len(NODES)
        assert told[-1] == "RunCompleted"

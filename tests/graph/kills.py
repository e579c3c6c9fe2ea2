"""Processes that kill themselves at a chosen commit.

Each drives the thread from whatever is on disk to its end, and says what it found and how it ended - unless it was told to die at a commit.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llm4s_notebook.checkpoint import Checkpoint, CheckpointStatus, Claim, Commit, EventRecord, SqliteCheckpointer
from llm4s_notebook.checkpoint._event import event_to_json
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Durability,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    RunContext,
    StateKey,
    Suspend,
    events,
)

from ..forks import Forks, serve

THREAD = "t"
TURNS = 2
ITEMS = ["a", "ask1", "b", "after a", "ask twice", "after after a", "ask3"]
LOG = StateKey.appending("log", str)
TALLY: StateKey[dict[str, int], str] = StateKey(
    "tally", dict[str, int], str, initial={}, reduce=lambda now, name: {**now, name: now.get(name, 0) + 1}
)


@dataclass
class Told:
    """What the bodies of one process share with its store: the tasks that ran here by their item, and whose results are stored."""

    lines: Path | None = None
    waits: bool = False
    ran: dict[str, str] = field(default_factory=dict[str, str])
    stored: set[str] = field(default_factory=set[str])
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def begins(self, context: RunContext, item: str = "") -> None:
        """One line for a body that begins, out of the process's hands before anything else happens."""
        if item:
            self.ran[item] = context.task_id
        if self.lines is not None:
            with self.lines.open("a") as file:
                file.write(f"{context.task_id} {context.node_id} {item}\n")

    async def after(self, item: str) -> None:
        """Wait until the result of `item` is stored, if it ran in this process and results are stored before the end at all."""
        while self.waits and item in self.ran and self.ran[item] not in self.stored:
            self.more.clear()
            await self.more.wait()

    def wrote(self, commit: Commit) -> None:
        self.stored.update(write.task_id for write in commit.writes)
        self.more.set()


def graph_of(told: Told) -> CompiledGraph[list[str], list[str]]:
    """plan fans out to worker (joined dynamically) and goes to left and right (joined statically); some workers ask a person."""
    builder = GraphBuilder("kills", version="1")
    approve = builder.declare_resume("approve", question=str, answer=str)
    summarize, merged, finish = builder.declare("summarize"), builder.declare("merged"), builder.declare("finish")
    work = builder.dynamic_join("work", summarize)

    @builder.node("worker", writes=[LOG, TALLY], routes=approve)
    async def worker(item: str, context: RunContext) -> Command | Suspend[str, str]:
        told.begins(context, item)
        if item.startswith("after "):
            await told.after(item.removeprefix("after "))
        if item.startswith("ask"):
            return Suspend(item, approve, Command().update(LOG, f"asked {item}"))
        return Command().update(LOG, item).update(TALLY, "worker")

    @builder.implement(approve, writes=[LOG, TALLY], routes=approve)
    async def approved(given: Resumed[str, str], context: RunContext) -> Command | Suspend[str, str]:
        told.begins(context, given.question)
        said = Command().update(LOG, f"{given.question}: {given.answer}").update(TALLY, "approve")
        return Suspend(given.question + ", again", approve, said) if given.question == "ask twice" else said

    async def side(context: RunContext) -> Command:
        told.begins(context)
        return Command().update(LOG, context.node_id)

    left = builder.node("left", writes=LOG)(side)
    right = builder.node("right", writes=LOG, routes=merged)(side)
    builder.static_join("sides", [left, right], merged)

    @builder.implement(merged, writes=LOG)
    async def merged_node(context: RunContext) -> Command:
        told.begins(context)
        return Command().update(LOG, "merged")

    @builder.implement(summarize, writes=[LOG, TALLY], routes=finish)
    async def summarize_node(context: RunContext) -> Command:
        told.begins(context)
        return Command().update(LOG, "summarize").remove(TALLY).goto(finish)

    @builder.implement(finish, writes=LOG, bookkeeping=True)
    async def finish_node(context: RunContext) -> Command:
        told.begins(context)
        return Command().update(LOG, "finish")

    @builder.node("plan", writes=LOG, routes=[work, worker, left, right])
    async def plan(items: list[str], context: RunContext) -> Command:
        told.begins(context)
        return Command().update(LOG, "plan").goto(left).fan_out(work, worker, items).goto(right)

    return builder.compile(plan, output=lambda state: state[LOG])


class KillingStore(SqliteCheckpointer):
    """Counts commits. Right before or right after commit number `at` it kills its process."""

    def __init__(self, path: str, told: Told, at: int, after: bool) -> None:
        super().__init__(path, synchronous="normal")
        self._told = told
        self._at = at
        self._after = after
        self.count = 0
        self.said: list[int] = []
        """The number of the last event after each commit."""

    def _due(self, number: int, after: bool) -> None:
        if number == self._at and after == self._after:
            os.kill(os.getpid(), signal.SIGKILL)

    def _over(self, number: int, commit: Commit, records: tuple[EventRecord, ...]) -> None:
        self._due(number, True)
        self.said.append(records[-1].sequence or 0 if records else self.said[-1])
        self._told.wrote(commit)

    def _next(self) -> int:
        self.count += 1
        self._due(self.count, False)
        return self.count

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> tuple[Claim, tuple[EventRecord, ...]]:
        number = self._next()
        done = await super().claim_and_commit(thread_id, holder, ttl, commit)
        self._over(number, commit, done[1])
        return done

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        number = self._next()
        records = await super().commit(thread_id, commit)
        self._over(number, commit, records)
        return records


async def go_on(store: KillingStore, told: Told, durability: Durability) -> None:
    """Whatever is on disk: start, recover or answer the oldest question, until the last turn is over."""
    runtime = GraphRuntime(store)
    graph = graph_of(told)
    config = RunConfig(interrupt_before=["left", "finish"], interrupt_after=["right", "merged"], durability=durability)
    while True:
        status = (await store.head(THREAD)).status
        if status is CheckpointStatus.SUSPENDED:
            waiting = await runtime.pending(THREAD, graph)
            assert waiting is not None
            first = waiting.interrupts[0]
            handle = await runtime.resume(THREAD, graph, {first.id: None if first.breakpoint else f"yes {first.id}"}, config)
        elif status in (None, CheckpointStatus.COMPLETED):
            began = [one for one in await store.events_after(THREAD, 0) if isinstance(one.event, events.RunStarted)]
            if len(began) == TURNS:
                break
            handle = await runtime.start(THREAD, graph, ITEMS, config)
        else:
            handle = await runtime.recover(THREAD, graph, config)
        await handle
    await runtime.aclose()


def plain(checkpoint: Checkpoint) -> list[Any]:
    """A checkpoint as far as it does not depend on the run that wrote it."""
    entries = [
        [section, name, [item.decode() for item in entry] if isinstance(entry, list) else entry.decode()]
        for (section, name), entry in checkpoint.entries.items()
        if (section, name) != ("meta", "birth")
    ]
    return [checkpoint.superstep, checkpoint.status.value, sorted(entries, key=lambda one: one[0])]


async def told_of(store: SqliteCheckpointer) -> dict[str, Any]:
    """The thread as it is on disk."""
    latest = await store.latest(THREAD)
    return {
        "events": [[one.task_id, one.node_id, event_to_json(one.event)] for one in await store.events_after(THREAD, 0)],
        "history": [plain(one) for one in reversed(await store.history(THREAD, limit=1000))],
        "latest": plain(latest.checkpoint) if latest else None,
        "frontier": [name for section, name in latest.checkpoint.entries if section == "task"] if latest else [],
        "parked": list(latest.checkpoint.interrupts) if latest else [],
        "writes": [write.task_id for write in latest.writes] if latest else [],
        "waiting": [list(one.interrupts) for one in await store.threads()],
    }


async def child(job: dict[str, Any]) -> None:
    durability = Durability(job["durability"])
    told = Told(Path(job["lines"]), waits=durability is not Durability.ON_EXIT)
    async with KillingStore(job["path"], told, job["at"], job["after"]) as store:
        answer: dict[str, Any] = {"found": await told_of(store)}
        await go_on(store, told, durability)
        answer |= {"ended": await told_of(store), "commits": store.count, "said": store.said}
    Path(job["answer"]).write_text(json.dumps(answer))  # noqa: ASYNC240 - nothing else runs any more


class Kills(Forks):
    """Runs that die at a commit, or at none."""

    def run(self, folder: Path, durability: Durability, at: int = 0, after: bool = False) -> dict[str, Any] | None:
        """One child to its end; None when it died at the commit it was told to die at."""
        job = {"path": str(folder / "threads.db"), "lines": str(folder / "lines"), "answer": str(folder / "answer.json")}
        code = self.fork({**job, "durability": durability.value, "at": at, "after": after})
        if at:
            assert code == -signal.SIGKILL, code
            return None
        assert code == 0, code
        return json.loads((folder / "answer.json").read_text())


if __name__ == "__main__":
    graph_of(Told())
    asyncio.run(asyncio.sleep(0))
    serve(child)

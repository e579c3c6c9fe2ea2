"""Random calls on threads of one graph come to the same on both stores, and no refusal leaves a trace (R4.19, R6.1)."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus, InMemoryCheckpointer, RetentionPolicy, SqliteCheckpointer
from llm4s_notebook.errors import Llm4sError, Refusal, ReplayUnavailable, StoreError
from llm4s_notebook.graph import (
    Block,
    Command,
    CompiledGraph,
    Completed,
    Durability,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunBudgets,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
)
from llm4s_notebook.testing import ManualClock

from .graphs import LOG

LAST = StateKey.replace("last", str, initial="")
TAGS: StateKey[list[str], str] = StateKey("tags", list[str], str, initial=[], reduce=lambda now, tag: sorted({*now, tag}))
NODES = ("plan", "worker", "approve", "summarize", "right", "end")
ITEMS = ("a", "b", "c", "ask", "ask twice", "fail", "block", "more", "fan", "clear")
WAYS = ("start", "resume", "recover", "update_state", "fork", "prune", "delete", "abandon", "seed")
OFTEN = (5, 9, 5, 2, 1.5, 1, 0.4, 0.6, 0.4)


def graph_of(failed: list[str]) -> CompiledGraph[list[str], Any]:
    """Items say what becomes of their worker; one that fails does so the first two times."""
    builder = GraphBuilder("lockstep", version="1")
    summarize, right, end = builder.declare("summarize"), builder.declare("right"), builder.declare("end")
    approve = builder.declare_resume("approve", question=str, answer=bool)
    worker = builder.declare("worker", input=str)
    join = builder.dynamic_join("work", summarize)

    @builder.implement(worker, writes=[LOG, LAST, TAGS], routes=[approve, worker, join])
    async def work(item: str) -> Any:
        update = Command().update(LOG, item).update(LAST, item).update(TAGS, item[:2])
        match item:
            case "ask" | "ask twice":
                return Suspend(item, approve, update)
            case "fail" if len(failed) < 2:
                failed.append(item)
                raise ValueError(item)
            case "block":
                return Block(RuntimeError(item), update)
            case "more":
                return update.send(worker, "ask")
            case "fan":
                return update.fan_out(join, worker, ["a", "ask"])
            case "clear":
                return Command().update(LOG, item).remove(LOG).update(LOG, "cleared").remove(LAST)
            case _:
                return update

    @builder.implement(approve, writes=LOG, routes=approve)
    async def approved(given: Resumed[str, bool]) -> Any:
        if given.question == "ask twice":
            return Suspend("ask", approve, Command().update(LOG, "again"))
        return Command().update(LOG, f"{given.question}:{given.answer}")

    @builder.implement(summarize, writes=LOG)
    async def summarized() -> Command:
        return Command().update(LOG, "summ")

    @builder.implement(right, writes=LOG)
    async def righted() -> Command:
        return Command().update(LOG, "right")

    @builder.implement(end, writes=LOG)
    async def ended() -> Command:
        return Command().update(LOG, "end")

    @builder.node("plan", writes=LOG, routes=[join, worker, right])
    async def plan(items: list[str]) -> Command:
        return Command().update(LOG, "planned").fan_out(join, worker, items).goto(right)

    builder.static_join("both", [right, summarize], end)
    return builder.compile(plan, output=lambda state: (state[LOG], state[LAST], state[TAGS]))


def told(way: str, result: object) -> tuple[Any, ...]:
    if isinstance(result, Completed):
        return way, result.output, result.superstep
    if isinstance(result, Suspended):
        return way, result.interrupts, dict(result.state.items())
    return way, result


async def seen(store: Checkpointer, thread_id: str) -> tuple[Any, ...]:
    """Everything a store says of the thread, without its random birth id."""
    head, latest, floor = await store.head(thread_id), await store.latest(thread_id), 1
    try:
        records = await store.events_after(thread_id, 0)
    except ReplayUnavailable as gone:
        floor = gone.earliest
        records = await store.events_after(thread_id, floor - 1)
    history = await store.history(thread_id, limit=1000)
    kept = [(one.header, [(at, entry) for at, entry in one.entries.items() if at != ("meta", "birth")], one.token) for one in history]
    assert [one.sequence for one in records] == list(range(floor, floor + len(records)))
    if latest is not None:
        assert (latest.checkpoint, list(latest.checkpoint.entries)) == (history[0], list(history[0].entries))
    return head, head.token, kept, latest.writes if latest else (), floor, records, await store.threads()


@dataclass
class Played:
    """One store with two runtimes, which know nothing of each other."""

    store: Checkpointer
    clock: ManualClock
    numbers: Any = field(default_factory=itertools.count)
    failed: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.graphs = [graph_of(self.failed) for _ in range(2)]
        self.runtimes = [GraphRuntime(self.store, clock=self.clock, new_id=lambda: f"run{next(self.numbers)}") for _ in range(2)]

    async def act(self, drawn: random.Random, way: str, thread_id: str) -> tuple[Any, ...]:
        """One call, by either runtime; what came of it, and how the thread is then."""
        self.clock.advance(1)
        which = drawn.randrange(2)
        runtime, graph = self.runtimes[which], self.graphs[which]
        config = RunConfig(
            interrupt_before=frozenset(node for node in NODES if drawn.random() < 0.1),
            interrupt_after=frozenset(node for node in NODES if drawn.random() < 0.1),
            durability=drawn.choice(list(Durability)),
            budgets=RunBudgets(max_supersteps=drawn.choice([1000, 1000, 1000, 3]), max_concurrency=drawn.choice([1, 16])),
        )
        items = drawn.choices(ITEMS, k=drawn.randint(0, 4))
        at = (await self.store.head(thread_id)).checkpoint_id or "nowhere/1"
        older = drawn.choice([one.id for one in await self.store.history(thread_id)] or ["nowhere/1"])
        held = await runtime.pending(thread_id, graph)
        answers = {
            one.id: None if one.breakpoint else drawn.random() < 0.5 if drawn.random() < 0.9 else "no answer"
            for one in (held.interrupts if held else ())
            if drawn.random() < 0.7
        }
        policy = RetentionPolicy(max_checkpoints=drawn.choice([None, 0, 1, 2]), max_events=drawn.choice([None, 0, 3]))
        edit = drawn.choice([Command().update(LOG, "edited"), Command().remove(LOG), Command().update(TAGS, "zz").remove(LAST)])

        async def run(admitting: Awaitable[Any]) -> Any:
            return await (await admitting)

        calls: dict[str, Callable[[], Awaitable[Any]]] = {
            "start": lambda: run(runtime.start(thread_id, graph, items, config)),
            "resume": lambda: run(runtime.resume(thread_id, graph, answers, config)),
            "recover": lambda: run(runtime.recover(thread_id, graph, config)),
            "update_state": lambda: runtime.update_state(thread_id, graph, at, edit),
            "fork": lambda: runtime.fork(thread_id, older, "u" if thread_id == "t" else "t"),
            "prune": lambda: self.store.prune(thread_id, policy),
            "delete": lambda: runtime.delete_thread(thread_id),
            "abandon": lambda: runtime.abandon(thread_id, graph, edit),
            "seed": lambda: runtime.seed(thread_id, graph, edit),
        }
        before = await seen(self.store, thread_id)
        try:
            said = told(way, await calls[way]())
        except (Llm4sError, RuntimeError) as error:
            said = (way, type(error).__name__, str(error))
            if isinstance(error, (Refusal, StoreError)):
                assert await seen(self.store, thread_id) == before, said
        after = await seen(self.store, thread_id)
        await self.check(thread_id)
        return said, after

    async def check(self, thread_id: str) -> None:
        """The thread is free, and each of its checkpoints fits the graph and survives JSON."""
        assert (await self.store.head(thread_id)).claim is None
        graph = self.graphs[0]
        for one in await self.store.history(thread_id, limit=1000):
            snapshot = graph.snapshot(graph.restore(one))
            assert graph.snapshot(graph.restore(json.loads(json.dumps(snapshot)))) == snapshot
            if one.status is not CheckpointStatus.SUSPENDED:
                assert not snapshot["paused"]

    async def close(self) -> None:
        for runtime in self.runtimes:
            await runtime.aclose()
        await self.store.aclose()


@pytest.mark.parametrize("seed", range(24))
async def test_random_calls_come_to_the_same_on_both_stores(tmp_path: Path, seed: int) -> None:
    """R4.19, R6.1, R6.11, R6.21, R6.36: starts, answers to any part, recoveries, edits, forks, pruning, giving up and deleting by two
    runtimes, with breakpoints, small budgets and every durability mode."""
    clocks = [ManualClock(), ManualClock()]
    memory = Played(InMemoryCheckpointer(clock=clocks[0]), clocks[0])
    file = Played(SqliteCheckpointer(tmp_path / "t.db", clock=clocks[1], synchronous="normal"), clocks[1])
    drawn = random.Random(seed)
    for step in range(14):
        way = drawn.choices(WAYS, OFTEN)[0] if step else "start"
        thread_id = drawn.choice("tttu") if step else "t"
        call = drawn.randrange(1 << 30)
        first = await memory.act(random.Random(call), way, thread_id)
        second = await file.act(random.Random(call), way, thread_id)
        assert first == second, f"step {step}"
    await memory.close()
    await file.close()

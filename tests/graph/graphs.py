"""The graphs that the scenarios speak of, and what drives and reads them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Completed,
    Execution,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
    events,
)

from ..waiting import until as until

LOG = StateKey.appending("log", str)
ITEMS = StateKey.appending("items", str)
GOT = StateKey.appending("got", Any)
Another = Callable[[], GraphRuntime]
"""Makes one more runtime on the same store."""


async def nothing() -> None:
    """A node that does nothing."""


@dataclass
class Chain:
    """start(n) -> middle -> end, each logging its name; the output is the log. `ran` counts calls."""

    graph: CompiledGraph[int, list[str]]
    ran: Counter[str]


def chain(*, before_middle: Callable[[], Awaitable[None]] | None = None) -> Chain:
    ran: Counter[str] = Counter()
    builder = GraphBuilder("chain", version="1")
    middle, end = builder.declare("middle"), builder.declare("end")

    @builder.node("start", writes=LOG, routes=middle)
    async def start(n: int) -> Command:
        ran["start"] += 1
        return Command().update(LOG, "start").goto(middle)

    @builder.implement(middle, writes=LOG, routes=end)
    async def middle_node() -> Command:
        ran["middle"] += 1
        if before_middle is not None:
            await before_middle()
        return Command().update(LOG, "middle").goto(end)

    @builder.implement(end, writes=LOG)
    async def end_node() -> Command:
        ran["end"] += 1
        return Command().update(LOG, "end")

    return Chain(builder.compile(start, output=lambda state: state[LOG]), ran)


@dataclass
class Fan:
    """plan logs "planned" and fans its items out to worker, a join leads to summarize; an item "ask…" suspends to approve."""

    graph: CompiledGraph[list[str], list[str]]
    ran: Counter[str]
    delays: dict[str, asyncio.Event] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)


def fan(*, delays: Iterable[str] = ()) -> Fan:
    ran: Counter[str] = Counter()
    made = Fan(None, ran, {name: asyncio.Event() for name in delays})  # type: ignore[arg-type]
    builder = GraphBuilder("fan", version="1")
    summarize = builder.declare("summarize")
    approve = builder.declare_resume("approve", question=str, answer=bool)
    join = builder.dynamic_join("work", summarize)

    @builder.node("worker", writes=ITEMS, routes=approve)
    async def worker(item: str) -> Command | Suspend[str, bool]:
        ran[item] += 1
        if item in made.delays:
            await made.delays[item].wait()
        if item in made.failing:
            made.failing.discard(item)
            raise ValueError(item)
        if item.startswith("ask"):
            return Suspend(item, approve)
        return Command().update(ITEMS, item.upper())

    @builder.implement(approve, writes=ITEMS)
    async def approve_node(given: Resumed[str, bool]) -> Command:
        ran[f"approve {given.question}"] += 1
        return Command().update(ITEMS, f"{given.question}:{given.answer}")

    @builder.node("plan", writes=ITEMS, routes=[join, worker])
    async def plan(items: list[str]) -> Command:
        ran["plan"] += 1
        return Command().update(ITEMS, "planned").fan_out(join, worker, items)

    @builder.implement(summarize, writes=ITEMS)
    async def summarize_node() -> Command:
        ran["summarize"] += 1
        return Command().update(ITEMS, "summ")

    made.graph = builder.compile(plan, output=lambda state: state[ITEMS])
    return made


def asking(answer: Any, question: Any = str) -> CompiledGraph[None, list[Any]]:
    """start asks once, the answer is appended to `got`."""
    builder = GraphBuilder("asking", version="1")
    ask = builder.declare_resume("ask", question=question, answer=answer)

    @builder.implement(ask, writes=GOT)
    async def answered(given: Resumed[Any, Any]) -> Command:
        return Command().update(GOT, given.answer)

    @builder.node("start")
    async def start() -> Suspend[Any, Any]:
        return Suspend("?", ask)

    return builder.compile(start, output=lambda state: state[GOT])


def mixed() -> CompiledGraph[None, list[str]]:
    """An open dynamic and a partial static join at most boundaries, with a custom list key and a question in between."""
    tags: StateKey[list[str], str] = StateKey("tags", list[str], str, initial=[], reduce=lambda now, tag: sorted({*now, tag}))
    builder = GraphBuilder("mixed", version="1")
    ask = builder.declare_resume("ask", question=int, answer=str)
    end = builder.declare("end")
    slow, slower = builder.declare("slow"), builder.declare("slower")
    join = builder.dynamic_join("fan", slow)

    @builder.node("child", writes=[LOG, tags])
    async def child(n: int) -> Command | Suspend[int, str]:
        return Suspend(n, ask) if n == 2 else Command().update(LOG, f"child {n}").update(tags, f"t{n}")

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[int, str]) -> Command:
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("left", writes=LOG)
    async def left() -> Command:
        return Command().update(LOG, "left")

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, child, [1, 2, 3]).goto(left)

    @builder.implement(slow, writes=LOG)
    async def slow_node() -> Command:
        return Command().update(LOG, "slow").goto(slower)

    @builder.implement(slower, writes=LOG)
    async def slower_node() -> Command:
        return Command().update(LOG, "slower")

    @builder.implement(end, writes=LOG)
    async def end_node() -> Command:
        return Command().update(LOG, "end")

    builder.static_join("both", [left, slower], end)
    return builder.compile(start, output=lambda state: [*state[LOG], *state[tags]])


WHOLE = ["child 1", "child 3", "left", "2 yes", "slow", "slower", "end", "t1", "t3"]
"""What `mixed` ends with when its question is answered with "yes"."""


async def drive(graph: CompiledGraph[Any, Any], execution: Execution, config: RunConfig | None = None) -> Completed[Any] | Suspended:
    """Step in memory to the run's result."""
    at: Execution | Completed[Any] | Suspended = execution
    while isinstance(at, Execution):
        at = await graph.step(at, config or RunConfig())
    return at


def ids(suspended: object) -> list[str]:
    assert isinstance(suspended, Suspended), suspended
    return [one.id for one in suspended.interrupts]


def output(completed: object) -> Any:
    assert isinstance(completed, Completed), completed
    return completed.output


async def log(store: Checkpointer, thread_id: str = "t") -> list[events.RunEvent]:
    """The thread's durable events, after checking that their numbers are contiguous from 1."""
    records = await store.events_after(thread_id, 0)
    assert [record.sequence for record in records] == list(range(1, len(records) + 1))
    return [record.event for record in records]


async def names(store: Checkpointer, thread_id: str = "t") -> list[str]:
    return [type(event).__name__ for event in await log(store, thread_id)]


async def completed(store: Checkpointer, thread_id: str = "t") -> list[str]:
    """Which tasks the log says were completed, as "task node", in its order."""
    records = await store.events_after(thread_id, 0)
    return [f"{record.task_id} {record.node_id}" for record in records if isinstance(record.event, events.TaskCompleted)]


async def trace(store: Checkpointer, thread_id: str = "t") -> object:
    """Everything a store says of a thread, to see that a refusal changed nothing (R4.19)."""
    head = await store.head(thread_id)
    history = await store.history(thread_id, limit=1000)
    listed = [one for one in await store.threads() if one.thread_id == thread_id]
    return head, head.token, await store.latest(thread_id), history, await store.events_after(thread_id, 0), listed


def texts(state: ThreadState) -> list[str]:
    return state[LOG]

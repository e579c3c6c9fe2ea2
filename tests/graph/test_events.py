"""Following a thread's events (EVT, CAN-17, R7.7-R7.13)."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import weakref
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, EventRecord, SqliteCheckpointer
from llm4s_notebook.errors import ConfigError, NodeFailed, ReplayUnavailable, StoreUnavailable, SubscriptionLagged
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, RunContext, events

from .graphs import Another, chain, fan, names, output, until


async def take(iterator: AsyncIterator[EventRecord], count: int) -> list[EventRecord]:
    async with asyncio.timeout(20):
        return [await anext(iterator) for _ in range(count)]


async def rest(iterator: AsyncIterator[EventRecord]) -> list[EventRecord]:
    async with asyncio.timeout(20):
        return [record async for record in iterator]


async def exhaust(iterator: AsyncIterator[EventRecord], into: list[int | None]) -> None:
    while True:
        into += numbers(await take(iterator, 1))


def numbers(records: list[EventRecord]) -> list[int | None]:
    return [record.sequence for record in records]


async def test_a_subscription_replays_from_where_it_is_told(runtime: GraphRuntime) -> None:
    """EVT-02."""
    await runtime.run("t", chain().graph, 1)
    assert numbers(await take(runtime.subscribe("t", after=5), 3)) == [6, 7, 8]


async def test_a_subscription_joins_in_mid_run_and_misses_nothing(runtime: GraphRuntime) -> None:
    """R7.7: each event exactly once and in number order, over two turns."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    live = runtime.subscribe("t")
    first = await take(live, 2)
    made.delays["a"].set()
    await handle
    second = await take(live, 6)
    await runtime.run("t", made.graph, [])
    third = await take(live, 3)
    assert numbers(first + second + third) == list(range(1, 12))


async def test_a_handles_events_are_exactly_its_runs(runtime: GraphRuntime) -> None:
    """CAN-17, R7.11: from just before the opening event, whenever called, until the last."""
    made = chain()
    first = await runtime.start("t", made.graph, 1)
    await first
    second = await runtime.start("t", made.graph, 1)
    during = asyncio.create_task(rest(second.events()))
    await second
    third = await runtime.start("t", made.graph, 1)
    await third
    for handle, opening in ((first, 1), (second, 9), (third, 17)):
        told = await rest(handle.events())
        assert numbers(told) == list(range(opening, opening + 8))
        assert {record.run_id for record in told} == {handle.run_id}
        assert isinstance(told[0].event, events.RunStarted)
        assert isinstance(told[-1].event, events.RunCompleted)
    assert numbers(await during) == list(range(9, 17))


async def test_the_events_of_a_run_that_failed_end_too(runtime: GraphRuntime) -> None:
    """R7.11."""
    made = fan()
    made.failing.add("a")
    handle = await runtime.start("t", made.graph, ["a"])
    with pytest.raises(NodeFailed):
        await handle
    assert isinstance((await rest(handle.events()))[-1].event, events.RunFailed)


async def test_a_slow_listener_is_ended_and_can_come_back_without_a_gap(runtime: GraphRuntime) -> None:
    """EVT-03, R7.8: runs do not wait; a prefix, then lagging with the last number."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    slow = runtime.subscribe("t", capacity=4)  # type: ignore[call-arg]
    seen = numbers(await take(slow, 8))
    waiting = asyncio.create_task(anext(slow))
    await asyncio.sleep(0.01)
    await runtime.run("t", made.graph, 1)
    seen.append((await waiting).sequence)
    for _ in range(3):
        await runtime.run("t", made.graph, 1)
    with pytest.raises(SubscriptionLagged) as caught:
        await exhaust(slow, seen)
    last = caught.value.last_sequence
    assert seen == list(range(1, last + 1))
    assert last < 40
    again = runtime.subscribe("t", after=last)
    assert numbers(await take(again, 40 - last)) == list(range(last + 1, 41))
    with pytest.raises(StopAsyncIteration):
        await anext(slow)


async def test_live_progress_that_does_not_fit_is_a_gap_with_a_count(runtime: GraphRuntime) -> None:
    """R7.8, R7.10: never stored, never replayed, without a number; durable events are not dropped for it."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        for n in range(10):
            context.progress("step", n)

    graph = builder.compile(start, output=lambda _: None)
    live = runtime.subscribe("t", capacity=4)  # type: ignore[call-arg]
    await runtime.run("t", graph, None)
    told = await take(live, 9)
    assert [record.event for record in told if record.sequence is None] == [
        *(events.Progress("step", 1, n) for n in range(4)),
        events.Gap(6),
    ]
    assert [record.sequence for record in told if record.sequence is not None] == [1, 2, 3, 4]
    late = runtime.subscribe("t")
    assert numbers(await take(late, 4)) == [1, 2, 3, 4]


async def test_a_subscriber_that_raises_ends_for_itself_only(runtime: GraphRuntime, another: Another) -> None:
    """EVT-05, R7.9: the run and the other subscribers go on; nothing more is delivered, and from the last number that was handled well
    one subscribes again without a gap."""
    handled: list[int | None] = []
    live: Any = runtime.subscribe("t")
    other = runtime.subscribe("t")

    async def listen() -> None:
        async for record in live:
            if isinstance(record.event, events.TaskCompleted):
                raise ValueError("the listener's own")
            handled.append(record.sequence)

    listening = asyncio.create_task(listen())
    await asyncio.sleep(0)
    handle = await runtime.start("t", chain().graph, 1)
    assert output(await handle) == ["start", "middle", "end"]
    with pytest.raises(ValueError, match="own"):
        await listening
    assert handled == [1]
    await live.aclose()
    assert await rest(live) == []
    assert numbers(await take(other, 8)) == list(range(1, 9))
    assert numbers(await take(runtime.subscribe("t", after=handled[-1] or 0), 7)) == list(range(2, 9))


async def test_a_subscription_that_is_dropped_is_forgotten(runtime: GraphRuntime) -> None:
    """R7.9: leaving the iterator is enough; the runtime does not keep it."""

    async def leaves() -> weakref.ref[Any]:
        live = runtime.subscribe("t")
        async for _ in live:
            break
        return weakref.ref(live)

    await runtime.run("t", chain().graph, 1)
    left = await leaves()
    gc.collect()
    assert left() is None
    assert output(await runtime.run("t", chain().graph, 1))


async def test_a_cancelled_subscription_delivers_nothing_more(runtime: GraphRuntime) -> None:
    """EVT-06, R7.9: also of what was queued for it already, and to one that waits at that moment."""
    live: Any = runtime.subscribe("t")
    await runtime.run("t", chain().graph, 1)
    await take(live, 1)
    await live.aclose()
    assert await rest(live) == []
    idle: Any = runtime.subscribe("u")
    waiting = asyncio.create_task(rest(idle))
    await asyncio.sleep(0.01)
    idle.close()
    assert await waiting == []


async def test_a_compacted_log_and_a_closed_store_end_the_replay(runtime: GraphRuntime, store: Checkpointer) -> None:
    """EVT-07, R6.13, R7.9."""
    await runtime.run("t", chain().graph, 1)
    await store.compact_events("t", 4)
    with pytest.raises(ReplayUnavailable) as caught:
        await anext(runtime.subscribe("t"))
    assert caught.value.earliest == 4
    assert numbers(await take(runtime.subscribe("t", after=3), 2)) == [4, 5]
    waiting = runtime.subscribe("t", after=8)
    await store.aclose()
    with pytest.raises(StoreUnavailable):
        await anext(waiting)


async def test_commits_of_other_runtimes_are_seen(runtime: GraphRuntime, another: Another) -> None:
    """R7.12: by polling; and mixed with this runtime's own, still each once and in order."""
    made = chain()
    live = runtime.subscribe("t")
    await another().run("t", made.graph, 1)
    await runtime.run("t", made.graph, 1)
    await another().run("t", made.graph, 1)
    assert numbers(await take(live, 24)) == list(range(1, 25))


async def test_another_process_is_followed_by_its_commits_alone(tmp_path: Path) -> None:
    """R7.12, R6.14: two stores on one file, as two processes have them: durable events cross, live progress does not."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> None:
        context.progress("doing", 1)
        context.emit("did", 1)

    graph = builder.compile(start, output=lambda _: "done")
    async with SqliteCheckpointer(tmp_path / "t.db") as here, SqliteCheckpointer(tmp_path / "t.db") as there:
        follower, runner = GraphRuntime(here), GraphRuntime(there)
        live = follower.subscribe("t")
        following = asyncio.create_task(take(live, 5))
        waiting = asyncio.create_task(here.wait_events_after("t", 0, timeout=20))
        await asyncio.sleep(0.01)
        assert output(await runner.run("t", graph, None)) == "done"
        assert numbers(await waiting)[0] == 1
        told = await following
        assert numbers(told) == [1, 2, 3, 4, 5]
        assert events.Custom("did", 1, 1) in [record.event for record in told]
        await follower.aclose()
        await runner.aclose()


async def test_listeners_live_on_loops_of_their_own(runtime: GraphRuntime) -> None:
    """D23: a subscriber on another thread's loop."""
    got: list[int | None] = []
    ready = threading.Event()

    def elsewhere() -> None:
        async def listen() -> None:
            live = runtime.subscribe("t")
            ready.set()
            got.extend(numbers(await take(live, 8)))

        asyncio.run(listen())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    await asyncio.to_thread(ready.wait)
    await runtime.run("t", chain().graph, 1)
    await asyncio.to_thread(thread.join)
    assert got == list(range(1, 9))


async def test_bad_arguments_are_refused() -> None:
    """R7.8: at least two events have to fit, and events are numbered from 1."""
    runtime = GraphRuntime.in_memory()
    for name, value in (("capacity", 1), ("capacity", 0), ("after", -1)):
        with pytest.raises(ConfigError) as caught:
            runtime.subscribe("t", **{name: value})
        assert caught.value.field == name
    runtime.subscribe("t", capacity=2, after=0)


async def test_a_payload_that_one_subscriber_changes_is_whole_for_the_others(runtime: GraphRuntime) -> None:
    """R7.13: of what is live and of what is stored, in every depth; a replay has it as it was emitted."""
    builder = GraphBuilder("g", version="1")

    @builder.node("tells")
    async def tells(context: RunContext) -> None:
        context.progress("said", {"list": [1, {"a": "b"}]})
        context.emit("said", [{"list": [1, 2]}])
        context.emit("text", "as it is")

    one, two = runtime.subscribe("t"), runtime.subscribe("t")
    await runtime.run("t", builder.compile(tells, output=lambda _: None), None)
    seen: list[list[Any]] = []
    for subscriber in (one, two):
        records = await take(subscriber, 5)
        payloads = [record.event.payload for record in records if isinstance(record.event, events.Progress | events.Custom)]
        seen.append(json.loads(json.dumps(payloads)))
        for payload in payloads[:2]:
            inner = payload["list"] if isinstance(payload, dict) else payload[0]["list"]
            inner[1:] = ["changed"]
            payload.clear()
    assert seen == [[{"list": [1, {"a": "b"}]}, [{"list": [1, 2]}], "as it is"]] * 2
    replayed = await take(runtime.subscribe("t"), 4)
    assert [record.event.payload for record in replayed if isinstance(record.event, events.Custom)] == seen[0][1:]


async def test_closing_the_runtime_ends_its_subscriptions(another: Another) -> None:
    """api.md: `aclose`."""
    runtime = another()
    live = runtime.subscribe("t")
    waiting = asyncio.create_task(rest(live))
    await runtime.run("t", chain().graph, 1)
    await asyncio.sleep(0.01)
    await runtime.aclose()
    assert numbers(await waiting) in ([], *[list(range(1, n)) for n in range(2, 10)])


async def test_a_blocked_task_keeps_its_custom_events(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R7.4: also a suspended one."""
    from llm4s_notebook.graph import Block, Resumed, Suspend

    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("start")
    async def start(context: RunContext) -> Suspend[str, str]:
        context.emit("asked", None)
        return Suspend("?", ask)

    @builder.implement(ask)
    async def answered(given: Resumed[str, str], context: RunContext) -> Block:
        context.emit("blocked", None)
        return Block(ValueError("no"))

    graph = builder.compile(start, output=lambda _: None)
    await runtime.run("t", graph, None)
    with pytest.raises(ValueError, match="no"):
        await (await runtime.resume("t", graph, {"0.0": "x"}))
    assert [n for n in await names(store) if n in ("Custom", "TaskSuspended", "TaskFailed")] == [
        "TaskSuspended",
        "Custom",
        "TaskFailed",
        "Custom",
    ]


async def test_a_payload_without_a_json_form_fails_its_task(runtime: GraphRuntime) -> None:
    """R1.29."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start(context: RunContext) -> Command:
        context.emit("bad", object())
        return Command()

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed, match="payload of event 'bad'"):
        await runtime.run("t", graph, None)
    assert output(await runtime.run("u", chain().graph, 1))

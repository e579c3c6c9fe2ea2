"""Cancelling, time-outs, handles, recovery (CAN, BUD, R8)."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import (
    CheckpointWriteFailed,
    ConfigError,
    DeadlineExceeded,
    IncompleteRun,
    NodeFailed,
    RunCancelled,
    RunCrashed,
    ThreadBusy,
)
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Completed,
    Durability,
    GraphBuilder,
    GraphRuntime,
    RunBudgets,
    RunConfig,
    RunContext,
    RunStatus,
    StateKey,
    events,
)

from .graphs import LOG, chain, drive, fan, ids, log, names, output, trace, until
from .stores import FailingStore

Another = Callable[[], GraphRuntime]


async def _nothing() -> None: ...


async def test_cancelling_a_step_waits_for_every_task_and_keeps_nothing() -> None:
    """CAN-01, R8.7, D2: both blocked tasks saw it and were waited for; the step raises the cancellation itself."""
    made = fan(delays=["b", "c"])
    execution: Any = await made.graph.step(made.graph.start(["a", "b", "c"]))
    step = asyncio.create_task(made.graph.step(execution))
    await until(lambda: made.ran["b"] and made.ran["c"])
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert execution.state[StateKey.appending("items", str)] == ["planned"]
    for gate in made.delays.values():
        gate.set()
    assert output(await drive(made.graph, execution)) == ["planned", "A", "B", "C", "summ"]


async def test_cancelling_a_step_of_one_task() -> None:
    """CAN-02."""
    saw: list[str] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> None:
        saw.append("started")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            saw.append("cancelled")
            raise

    graph = builder.compile(start, output=lambda _: None)
    step = asyncio.create_task(graph.step(graph.start(None)))
    await until(lambda: saw)
    step.cancel()
    with pytest.raises(asyncio.CancelledError):
        await step
    assert saw == ["started", "cancelled"]


@pytest.mark.parametrize("siblings", [False, True])
@pytest.mark.parametrize("how", ["raises", "cancels itself and returns", "cancels itself and waits"])
async def test_a_node_that_cancels_itself_cancels_the_run(runtime: GraphRuntime, store: Checkpointer, how: str, siblings: bool) -> None:
    """CAN-03, R3.20: no state change."""
    builder = GraphBuilder("g", version="1")

    @builder.node("bad", writes=LOG)
    async def bad() -> Command:
        if how == "raises":
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if how == "cancels itself and waits":
            await asyncio.sleep(0)
        return Command().update(LOG, "bad")

    start = builder.node("start")(_nothing)
    builder.edge(start, bad)
    if siblings:
        builder.edge(start, builder.node("sibling")(_nothing))
    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(RunCancelled):
        await runtime.run("t", graph, None)
    latest = await store.latest("t")
    assert latest is not None
    assert graph.restore(latest.checkpoint).state[LOG] == []
    assert all(write.node_id != "bad" for write in latest.writes)
    current = asyncio.current_task()
    assert current is not None
    assert not current.cancelling()


@pytest.mark.parametrize("durability", Durability)
async def test_a_cancelled_run_names_its_checkpoint_and_recover_runs_only_the_rest(
    runtime: GraphRuntime, store: Checkpointer, durability: Durability
) -> None:
    """CAN-04, CAN-05, R8.3, R8.10, R7.5."""
    made = fan(delays=["b"])
    config = RunConfig(durability=durability)
    handle = await runtime.start("t", made.graph, ["a", "b"], config)
    await until(lambda: made.ran["b"])
    await asyncio.sleep(0.01)
    handle.cancel()
    handle.cancel()
    with pytest.raises(RunCancelled) as caught:
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.checkpoint.status is CheckpointStatus.RUNNING
    assert caught.value.checkpoint_id == latest.checkpoint.id
    assert (caught.value.thread_id, caught.value.run_id) == ("t", handle.run_id)
    assert [write.task_id for write in latest.writes] == ["1.0"]
    last = (await store.events_after("t", 0))[-1]
    assert (last.event, last.checkpoint_id) == (events.RunCancelled(), latest.checkpoint.id)
    assert "TaskFailed" not in await names(store)
    assert handle.status is RunStatus.FAILED
    made.delays["b"].set()
    assert output(await (await runtime.recover("t", made.graph, config))) == ["planned", "A", "B", "summ"]
    assert (made.ran["a"], made.ran["b"]) == (1, 2)
    told = await log(store)
    assert any(isinstance(event, events.RunRecovered) and event.from_checkpoint == latest.checkpoint.id for event in told)


async def test_a_callers_time_out_around_the_run_leaves_no_task_behind(runtime: GraphRuntime) -> None:
    """CAN-06, D2: cancelling `await runtime.run(...)` cancels the run and waits for it."""
    made = fan(delays=["b"])

    async def fire(limit: asyncio.Timeout) -> None:
        await until(lambda: made.ran["b"])
        limit.reschedule(asyncio.get_running_loop().time())

    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            await asyncio.gather(runtime.run("t", made.graph, ["a", "b"]), fire(limit))

    with pytest.raises(TimeoutError):
        await limited()
    left = [task.get_name() for task in asyncio.all_tasks() if "thread t" in task.get_name() or "of node" in task.get_name()]
    assert left == []
    made.delays["b"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert made.ran["a"] == 1


async def test_cancelling_the_waiter_leaves_the_run_alone(runtime: GraphRuntime) -> None:
    """R8.2, D2."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])

    async def wait() -> object:
        return await handle

    waiter = asyncio.create_task(wait())
    await until(lambda: made.ran["a"])
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
    assert handle.status is RunStatus.RUNNING
    made.delays["a"].set()
    assert output(await handle) == ["planned", "A", "summ"]


async def test_a_live_run_makes_its_thread_busy(runtime: GraphRuntime, another: Another, store: Checkpointer) -> None:
    """CAN-09, R4.20: for this runtime and for others, unchanged."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    before = await trace(store)
    for one in (runtime, another()):
        for call in (
            one.start("t", made.graph, ["x"]),
            one.resume("t", made.graph, {"1.0": True}),
            one.recover("t", made.graph),
            one.delete_thread("t"),
        ):
            with pytest.raises(ThreadBusy) as caught:
                await call
            assert caught.value.thread_id == "t"
            assert caught.value.holder == handle.run_id
    assert await trace(store) == before
    made.delays["a"].set()
    assert output(await handle) == ["planned", "A", "summ"]


async def test_a_run_cancelled_right_after_its_start_is_cancelled(runtime: GraphRuntime) -> None:
    """CAN-11: always; then the thread is incomplete."""
    made = fan(delays=["a"])
    for attempt in range(20):
        handle = await runtime.start(f"t{attempt}", made.graph, ["a"])
        handle.cancel()
        with pytest.raises(RunCancelled):
            await handle
        with pytest.raises(IncompleteRun):
            await runtime.start(f"t{attempt}", made.graph, ["a"])


async def test_a_finished_run_cannot_be_cancelled_and_gives_the_same_result_again(runtime: GraphRuntime) -> None:
    """CAN-12, R8.2, R8.4."""
    made = chain()
    handle = await runtime.start("t", made.graph, 1)
    first = await handle
    handle.cancel()
    handle.cancel()
    assert await handle is first
    assert handle.status is RunStatus.COMPLETED


async def test_an_error_is_the_same_each_time(runtime: GraphRuntime) -> None:
    """R8.2."""
    made = fan()
    made.failing.add("a")
    handle = await runtime.start("t", made.graph, ["a"])
    caught = []
    for _ in range(2):
        with pytest.raises(NodeFailed) as one:
            await handle
        caught.append(one.value)
    assert caught[0] is caught[1]


async def test_the_three_endings_of_a_handle(runtime: GraphRuntime) -> None:
    """CAN-15, R8.1."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    assert handle.status is RunStatus.RUNNING
    made.delays["a"].set()
    await handle
    assert handle.status is RunStatus.COMPLETED
    handle = await runtime.start("u", made.graph, ["ask"])
    assert ids(await handle) == ["1.0"]
    assert handle.status is RunStatus.SUSPENDED
    made.failing.add("x")
    handle = await runtime.start("v", made.graph, ["x"])
    with pytest.raises(NodeFailed):
        await handle
    assert handle.status is RunStatus.FAILED


async def test_a_node_that_swallows_its_cancellation_does_not_save_the_run(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.5: still cancelled; the task that returned with the cancellation still showing is dropped."""
    for siblings in (False, True):
        thread_id = f"t{siblings}"
        builder = GraphBuilder("g", version="1")
        started = asyncio.Event()

        async def swallows(started: asyncio.Event) -> Command:
            started.set()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return Command().update(LOG, "swallowed")

        bad = builder.node("bad", writes=LOG)(functools.partial(swallows, started=started))
        start = builder.node("start")(_nothing)
        builder.edge(start, bad)
        if siblings:
            builder.edge(start, builder.node("sibling")(_nothing))
        graph = builder.compile(start, output=lambda state: state[LOG])
        handle = await runtime.start(thread_id, graph, None)
        await started.wait()
        handle.cancel()
        with pytest.raises(RunCancelled):
            await handle
        latest = await store.latest(thread_id)
        assert latest is not None
        assert "bad" not in [write.node_id for write in latest.writes]


async def test_a_plain_function_sees_the_cancellation_and_is_waited_for(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D24: its result is dropped."""
    started, seen = threading.Event(), threading.Event()
    builder = GraphBuilder("g", version="1")

    @builder.node("plain", writes=LOG)
    def plain(context: RunContext) -> Command:
        started.set()
        while not context.cancelled:
            threading.Event().wait(0.002)
        seen.set()
        return Command().update(LOG, "plain")

    graph = builder.compile(plain, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None)
    await until(started.is_set)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert seen.is_set()
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == ()


async def test_a_time_out_is_no_cancellation(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BUD-01, R8.9: recoverable; the finished one of three is not run again."""
    made = fan(delays=["b", "c"])
    handle = await runtime.start("t", made.graph, ["a", "b", "c"], RunConfig(budgets=RunBudgets(timeout=0.2)))
    with pytest.raises(DeadlineExceeded) as caught:
        await handle
    assert caught.value.recoverable
    assert caught.value.checkpoint_id == (await store.head("t")).checkpoint_id
    told = await names(store)
    assert "RunTimedOut" in told
    assert "RunCancelled" not in told
    for gate in made.delays.values():
        gate.set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "B", "C", "summ"]
    assert made.ran["a"] == 1


async def test_a_deadline_that_passed_stops_the_run_before_its_first_superstep(runtime: GraphRuntime) -> None:
    """R8.9."""
    made = chain()
    with pytest.raises(DeadlineExceeded):
        await runtime.run("t", made.graph, 1, RunConfig(budgets=RunBudgets(timeout=1e-9)))
    assert not made.ran


async def test_a_cancel_and_a_deadline_leave_exactly_one_cause(runtime: GraphRuntime, store: Checkpointer) -> None:
    """BUD-03, R8.4."""
    made = fan(delays=["a"])
    for attempt in range(60):
        thread_id = f"t{attempt}"
        timeout = 0.001 * (attempt % 3 + 1)
        handle = await runtime.start(thread_id, made.graph, ["a"], RunConfig(budgets=RunBudgets(timeout=timeout)))
        asyncio.get_running_loop().call_later(0.002, handle.cancel)
        with pytest.raises((RunCancelled, DeadlineExceeded)) as caught:
            await handle
        told = await names(store, thread_id)
        wanted = "RunTimedOut" if isinstance(caught.value, DeadlineExceeded) else "RunCancelled"
        assert [name for name in told if name in ("RunTimedOut", "RunCancelled")] == [wanted]


def test_budgets_have_defaults_and_refuse_what_is_not_positive() -> None:
    """BUD-06, R1.31."""
    default = RunBudgets()
    assert (default.max_supersteps, default.timeout, default.max_concurrency) == (1000, None, 16)
    for bad in ({"max_supersteps": 0}, {"max_concurrency": -1}, {"timeout": 0.0}, {"timeout": -1.0}):
        with pytest.raises(ConfigError) as caught:
            RunBudgets(**bad)  # type: ignore[arg-type]
        assert caught.value.field == "budgets"
    with pytest.raises(ConfigError) as caught:
        RunBudgets(max_supersteps=0, max_concurrency=0, timeout=-1)
    assert len(caught.value.problems) == 3


async def test_two_default_runs_have_different_ids(runtime: GraphRuntime) -> None:
    """BUD-07, R1.4."""
    made = chain()
    first = await runtime.start("t", made.graph, 1)
    await first
    second = await runtime.start("t", made.graph, 1)
    await second
    third = await runtime.start("t", made.graph, 1, RunConfig(run_id="mine"))
    await third
    assert first.run_id != second.run_id
    assert third.run_id == "mine"


class Odd(BaseException):
    """Neither an Exception nor a cancellation."""


@pytest.mark.parametrize("siblings", [False, True])
async def test_what_escapes_the_machinery_crashes_the_run_and_frees_the_thread(
    runtime: GraphRuntime, store: Checkpointer, siblings: bool
) -> None:
    """R8.14: the store is as it was, siblings are waited for, recover is admitted at once."""
    fails = [True]
    done: list[str] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("odd")
    async def odd() -> None:
        if fails:
            fails.pop()
            raise Odd

    @builder.node("sibling")
    async def sibling() -> None:
        await asyncio.sleep(0.01)
        done.append("sibling")

    start = builder.node("start")(_nothing)
    builder.edge(start, odd)
    if siblings:
        builder.edge(start, sibling)
    graph = builder.compile(start, output=lambda _: "done")
    with pytest.raises(RunCrashed) as caught:
        await runtime.run("t", graph, None)
    assert isinstance(caught.value.cause, Odd)
    assert caught.value.thread_id == "t"
    assert done == (["sibling"] if siblings else [])
    head = await store.head("t")
    assert (head.status, head.claim) == (CheckpointStatus.RUNNING, None)
    assert output(await (await runtime.recover("t", graph))) == "done"


async def test_a_run_can_be_awaited_and_cancelled_from_other_loops_and_threads(runtime: GraphRuntime) -> None:
    """D23: the run lives on the loop that started it."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    got: list[object] = []

    def elsewhere() -> None:
        async def wait() -> None:
            try:
                await handle
            except RunCancelled as error:
                got.append(error)

        asyncio.run(wait())

    threads = [threading.Thread(target=elsewhere) for _ in range(3)]
    for thread in threads:
        thread.start()
    await asyncio.sleep(0.02)
    await asyncio.to_thread(handle.cancel)
    with pytest.raises(RunCancelled) as caught:
        await handle
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert got == [caught.value] * 3


async def test_one_runtime_serves_several_loops_at_once(runtime: GraphRuntime) -> None:
    """D23."""
    made = fan()
    got: dict[str, Completed[Any]] = {}

    def elsewhere(name: str) -> None:
        async def turns() -> None:
            await runtime.run(name, made.graph, ["a", "ask"])
            got[name] = await (await runtime.resume(name, made.graph, {"1.1": True}))  # type: ignore[assignment]

        asyncio.run(turns())

    threads = [threading.Thread(target=elsewhere, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert [output(got[f"t{n}"]) for n in range(4)] == [["planned", "A", "ask:True", "summ"]] * 4


@pytest.mark.parametrize("durability", Durability)
async def test_a_loop_that_ends_cancels_its_runs_and_recover_continues_them(
    runtime: GraphRuntime, store: Checkpointer, durability: Durability
) -> None:
    """R8.3, R8.6: `asyncio.run` cancels every task when its main coroutine returns; the cancellation is recorded."""
    made = fan(delays=["b"])

    def elsewhere() -> None:
        async def begin() -> None:
            await runtime.start("t", made.graph, ["a", "b"], RunConfig(durability=durability))
            await until(lambda: made.ran["b"])

        asyncio.run(begin())

    await asyncio.to_thread(elsewhere)
    assert (await names(store))[-1] == "RunCancelled"
    assert (await store.head("t")).claim is None
    again = fan()
    assert output(await (await runtime.recover("t", again.graph))) == ["planned", "A", "B", "summ"]


async def test_cancelling_start_itself_leaves_nothing_half_done(store: Checkpointer, another: Another) -> None:
    """D2: a caller cancelled while its run is being admitted waits until that run is over."""
    made = chain()
    for ticks in range(12):
        runtime, thread_id = another(), f"t{ticks}"
        task = asyncio.create_task(runtime.run(thread_id, made.graph, 1))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert runtime.live(thread_id) is None
        head = await store.head(thread_id)
        assert head.claim is None
        if head.status is CheckpointStatus.RUNNING:
            assert output(await (await runtime.recover(thread_id, made.graph)))[-1] == "end"


async def test_closing_a_runtime_cancels_its_runs(another: Another, store: Checkpointer) -> None:
    """api.md: `aclose`."""
    made = fan(delays=["a"])
    runtime = another()
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    await runtime.aclose()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store))[-1] == "RunCancelled"


def hooked(hook: Callable[[], None]) -> CompiledGraph[None, list[str]]:
    """start -> second; `hook` is called by the projection."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        return Command().update(LOG, "start")

    def project(state: Any) -> list[str]:
        hook()
        return state[LOG]

    return builder.compile(start, output=project)


async def test_a_cancel_recorded_before_the_outcome_wins(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R8.4: cancelled while the run ends by itself; the last superstep is kept, the outcome is not committed."""
    cancels = [True]

    def cancel() -> None:
        handle = runtime.live("t")
        if cancels and handle is not None:
            cancels.pop()
            handle.cancel()

    graph = hooked(cancel)
    handle = await runtime.start("t", graph, None)
    with pytest.raises(RunCancelled) as caught:
        await handle
    head = await store.head("t")
    assert head.status is CheckpointStatus.RUNNING
    assert head.checkpoint_id == caught.value.checkpoint_id
    assert (await names(store))[-2:] == ["CheckpointCommitted", "RunCancelled"]
    assert output(await (await runtime.recover("t", graph))) == ["start"]


async def test_a_cancel_outranks_a_failure_of_the_same_superstep(runtime: GraphRuntime, store: Checkpointer) -> None:
    """CAN-13, R3.20."""
    made = fan(delays=["b"])
    made.failing.add("a")
    handle = await runtime.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"] and not made.failing)
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store))[-1] == "RunCancelled"
    assert "RunFailed" not in await names(store)


async def test_a_run_whose_loop_was_closed_under_it_does_not_hold_its_thread(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D23, D8: it can neither go on nor end; recover is admitted, and its claim is not renewed for ever."""
    made = fan(delays=["b"])
    handles: list[Any] = []

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        handles.append(loop.run_until_complete(runtime.start("t", made.graph, ["a", "b"])))
        loop.run_until_complete(until(lambda: made.ran["b"]))
        loop.close()

    await asyncio.to_thread(elsewhere)
    assert runtime.live("t") is None
    again = fan()
    assert output(await (await runtime.recover("t", again.graph))) == ["planned", "A", "B", "summ"]
    handles[0].cancel()


async def test_a_handle_names_the_nodes_whose_calls_are_under_way(runtime: GraphRuntime) -> None:
    """For a diagram: each once, in the order in which they began; none before, between and after."""
    made = fan(delays=["a", "b"])
    handle = await runtime.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["a"] and made.ran["b"])
    assert handle.running_nodes == ("worker",)
    for gate in made.delays.values():
        gate.set()
    await handle
    assert handle.running_nodes == ()


async def test_a_cancel_during_a_commit_does_not_break_it() -> None:
    """R8.6: the run is cancelled, not failed by its store; what was committed stays."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    made = chain()
    store.slow = asyncio.Event()
    handle = await runtime.start("t", made.graph, 1)
    await until(lambda: made.ran["start"])
    await asyncio.sleep(0.01)
    handle.cancel()
    store.slow.set()
    with pytest.raises(RunCancelled) as caught:
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert (latest.checkpoint.id, latest.checkpoint.superstep) == (caught.value.checkpoint_id, 1)
    assert made.ran == {"start": 1}
    assert output(await (await runtime.recover("t", made.graph))) == ["start", "middle", "end"]
    assert made.ran["start"] == 1


async def test_a_store_that_fails_at_the_closing_commit_of_a_cancel_tells_both() -> None:
    """R8.6."""
    store = FailingStore()
    runtime = GraphRuntime(store)
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    store.dead = True
    handle.cancel()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.run_error, RunCancelled)
    assert caught.value.cause is store.error
    store.dead = False
    made.delays["a"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "summ"]


class Breaking(FailingStore):
    """Breaks one closing commit with a cancellation, before or after it was applied."""

    breaks = False
    applied = False

    async def commit(self, thread_id: str, commit: Any) -> Any:
        if self.breaks and commit.release:
            self.breaks = False
            if self.applied:
                await super().commit(thread_id, commit)
            raise asyncio.CancelledError
        return await super().commit(thread_id, commit)


@pytest.mark.parametrize("applied", [False, True])
async def test_a_closing_commit_that_is_broken_is_tried_afresh(applied: bool) -> None:
    """R8.6: by whoever ends the loop; the cancellation is recorded once and the thread is free."""
    store = Breaking()
    store.applied = applied
    runtime = GraphRuntime(store)
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    store.breaks = True
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    assert (await names(store)).count("RunCancelled") == 1
    assert (await store.head("t")).claim is None
    made.delays["a"].set()
    assert output(await (await runtime.recover("t", made.graph))) == ["planned", "A", "summ"]


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("items", [["a"], ["ask a"]])
async def test_a_cancel_that_comes_with_the_outcome_is_ignored(applied: bool, items: list[str]) -> None:
    """R8.4: from the moment the outcome is being committed the run ends with it, completed or suspended."""
    store = Breaking()
    store.applied = applied
    store.breaks = True
    made = fan()
    handle = await GraphRuntime(store).start("t", made.graph, items)
    await handle
    assert handle.status in (RunStatus.COMPLETED, RunStatus.SUSPENDED)
    told = await names(store)
    assert told[-1] == ("RunCompleted" if items == ["a"] else "RunSuspended")
    assert "RunCancelled" not in told
    assert (await store.head("t")).claim is None


async def test_a_keyboard_interrupt_in_a_node_cancels_its_run_and_goes_on_through_the_loop(
    runtime: GraphRuntime, store: Checkpointer
) -> None:
    """R8.3: as an interrupted script does; the cancellation is recorded, the thread is free, the handle says what happened."""
    interrupts = [True]
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        if interrupts:
            interrupts.pop()
            raise KeyboardInterrupt
        return Command().update(LOG, "start")

    graph = builder.compile(start, output=lambda state: state[LOG])
    raised: list[BaseException] = []

    def elsewhere() -> None:
        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(runtime.run("t", graph, None))
        except KeyboardInterrupt as error:
            raised.append(error)
        loop.close()

    await asyncio.to_thread(elsewhere)
    assert len(raised) == 1
    assert (await names(store))[-1] == "RunCancelled"
    assert (await store.head("t")).claim is None
    assert output(await (await runtime.recover("t", graph))) == ["start"]


async def test_a_swallowed_cancellation_beside_a_held_task_is_dropped_too(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R8.5: also when its siblings did not run, so that it ran in the run's own task."""
    builder = GraphBuilder("g", version="1")
    started = asyncio.Event()

    @builder.node("bad", writes=LOG)
    async def bad() -> Command:
        started.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return Command().update(LOG, "swallowed")

    start = builder.node("start")(_nothing)
    builder.edge(start, bad)
    builder.edge(start, builder.node("held")(_nothing))
    graph = builder.compile(start, output=lambda state: state[LOG])
    handle = await runtime.start("t", graph, None, RunConfig(interrupt_before="held"))
    await started.wait()
    handle.cancel()
    with pytest.raises(RunCancelled):
        await handle
    latest = await store.latest("t")
    assert latest is not None
    assert latest.writes == ()


async def _failing() -> None:
    await asyncio.sleep(0)
    raise ValueError("child")


async def _group_with_a_failing_child() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_failing())
        group.create_task(asyncio.sleep(60))


@pytest.mark.parametrize("siblings", [1, 2])
async def test_a_task_group_whose_child_failed_does_not_cancel_the_run(runtime: GraphRuntime, siblings: int) -> None:
    """R8.5: before Python 3.13 such a group leaves a cancel request on the task, although nobody cancelled anything."""
    builder = GraphBuilder("g", version="1")

    @builder.node("group", writes=LOG)
    async def group() -> Command:
        try:
            await _group_with_a_failing_child()
        except* ValueError:
            pass
        await asyncio.sleep(0)
        return Command().update(LOG, "handled")

    start = builder.node("start")(_nothing)
    for _ in range(siblings):
        builder.edge(start, group)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert output(await runtime.run("t", graph, None)) == ["handled"] * siblings


async def test_a_task_group_that_nobody_handles_is_the_nodes_failure(runtime: GraphRuntime) -> None:
    """R3.6: not a cancellation."""
    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(_group_with_a_failing_child)
    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed) as failed:
        await runtime.run("t", graph, None)
    assert isinstance(failed.value.cause, ExceptionGroup)


async def test_a_callers_time_out_around_a_step_is_not_forgotten_for_a_node_that_swallows_it() -> None:
    """R8.5, R8.7: what the caller cancelled stays cancelled, and its own time-out ends as one."""
    began = asyncio.Event()
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> None:
        began.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    graph = builder.compile(start, output=lambda _: "done")

    async def fire(limit: asyncio.Timeout) -> None:
        await began.wait()
        limit.reschedule(asyncio.get_running_loop().time())

    async def limited() -> None:
        async with asyncio.timeout(None) as limit:
            firing = asyncio.create_task(fire(limit))
            try:
                await graph.step(graph.start(None))
            finally:
                await firing

    with pytest.raises(TimeoutError):
        await limited()

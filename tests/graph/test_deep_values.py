"""Values as deep as can be: whatever is taken is read again wherever it is put, and what is deeper is refused at the door (6.8, R1.13)."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import EncodeError, InvalidResume, NodeFailed, RestoreRejected
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, RunConfig, RunContext, StateKey, Suspend
from llm4s_notebook.graph._codec import DEEPEST, check_depth

from .graphs import Another, chain, ids, output

VALUE: StateKey[Any, Any] = StateKey.replace("value", Any, initial=None)
ITEMS: StateKey[list[Any], Any] = StateKey.appending("items", Any)
TALLY: StateKey[list[Any], Any] = StateKey("tally", list[Any], Any, initial=[], reduce=lambda now, more: [more, *now])
OBJECT = {"of": "records"}


def deep(levels: int, of: object = None) -> Any:
    """So many arrays or records in each other, with brackets in a text besides, which count for nothing."""
    value: Any = '[{"'
    for _ in range(levels):
        value = {"a": value} if of is OBJECT else [value]
    return value


def everywhere(failing: list[bool]) -> CompiledGraph[Any, int]:
    """The input becomes state of each kind, a payload of a fan-out, a recorded result, a question and an event."""
    builder = GraphBuilder("deep", version="1")
    ask = builder.declare_resume("ask", question=Any, answer=Any)
    end = builder.declare("end")
    join = builder.dynamic_join("join", end)

    @builder.implement(ask, writes=[VALUE, ITEMS, TALLY])
    async def answered(given: Resumed[Any, Any]) -> Command:
        return Command().update(VALUE, given.answer).update(ITEMS, given.question).update(TALLY, given.answer)

    @builder.node("worker", writes=[VALUE, ITEMS, TALLY])
    async def worker(value: Any, context: RunContext) -> Any:
        if value == "fail":
            if failing:
                failing.clear()
                raise ValueError("once")
            return None
        context.emit("deep", value)
        return Suspend(value, ask, Command().update(VALUE, value).update(ITEMS, value).update(TALLY, value))

    @builder.implement(end)
    async def ended() -> None: ...

    @builder.node("start", writes=[VALUE, ITEMS, TALLY], routes=[join, worker])
    async def start(value: Any) -> Command:
        return Command().update(VALUE, value).update(ITEMS, value).update(TALLY, value).fan_out(join, worker, [value, "fail"])

    return builder.compile(start, output=lambda state: len(state[ITEMS]) + len(state[TALLY]) + (state[VALUE] is not None))


@pytest.mark.parametrize("of", [None, OBJECT])
async def test_what_is_taken_is_read_again_wherever_it_is_put(another: Another, store: Checkpointer, of: object) -> None:
    """6.8, R6.39, R6.40, R8.10, R5.40: as a held input and held routes, a recorded result, a question, an answer, a held continuation,
    state of each kind and an event; by runtimes that know nothing but the file, and in a snapshot."""
    graph, value = everywhere([True]), deep(DEEPEST, of)
    holds = RunConfig(interrupt_before={"ask", "worker"}, interrupt_after={"start"})
    held = await another().run("t", graph, value, holds)
    for _ in range(8):
        stored = await store.latest("t")
        assert stored is not None
        execution = graph.restore(stored.checkpoint)
        assert graph.restore(json.loads(json.dumps(graph.snapshot(execution)))).state[ITEMS] == execution.state[ITEMS]
        waiting = await another().pending("t", graph)
        if waiting is None:
            break
        assert ids(waiting) == ids(held)
        answers = {one.id: None if one.breakpoint else value for one in waiting.interrupts}
        try:
            held = await (await another().resume("t", graph, answers, holds))
        except NodeFailed:
            held = await (await another().recover("t", graph, holds))
    assert output(held) == 7
    records = await store.events_after("t", 0)
    assert [one.event.payload for one in records if type(one.event).__name__ == "Custom"] == [value]  # type: ignore[attr-defined]  # of a custom one


@pytest.mark.parametrize("of", [None, OBJECT])
@pytest.mark.parametrize("levels", [DEEPEST + 1, 199, 200, 201, 250, 255, 5000])
async def test_what_is_deeper_is_refused_at_each_door(runtime: GraphRuntime, store: Checkpointer, levels: int, of: object) -> None:
    """6.8, R4.9, R4.19, R3.6: an input and an edit change nothing, an answer keeps its question, a node's result fails the node."""
    graph, value = everywhere([]), deep(levels, of)
    with pytest.raises(EncodeError):
        await runtime.start("t", graph, value)
    assert await store.latest("t") is None
    await runtime.run("t", graph, "shallow")
    before = await store.latest("t")
    at = before.checkpoint.id if before else ""
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"1.0": value})
    assert [one.interrupt_id for one in caught.value.problems] == ["1.0"]
    for key in (VALUE, ITEMS, TALLY):
        with pytest.raises(EncodeError):
            await runtime.update_state("t", graph, at, Command().update(key, value))
    assert await store.latest("t") == before

    builder = GraphBuilder("results", version="1")
    ask = builder.declare_resume("ask", question=Any, answer=Any)
    builder.implement(ask)(lambda given: None)
    results: list[Any] = [Command().update(VALUE, value), Command().update(ITEMS, value), Suspend(value, ask)]

    @builder.node("start", writes=[VALUE, ITEMS])
    async def start() -> Any:
        return results[0]

    other = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed):
        await runtime.run("u", other, None)
    while results:
        with pytest.raises(NodeFailed):
            await (await runtime.recover("u", other))
        results.pop(0)
    results.append(Command())
    assert output(await (await runtime.recover("u", other))) is None


def test_brackets_are_counted_as_they_lie_in_each_other() -> None:
    """6.8: not how many there are, and none that stand in a text."""
    mixed = deep(DEEPEST // 2 - 1)
    for _ in range(DEEPEST // 2):
        mixed = {"a": mixed}
    texts = ["[" * 500, '"' + "\\" * 7 + "{" * 400]
    for fine in ([[]] * 1000, {str(n): [{}] for n in range(500)}, deep(DEEPEST), deep(DEEPEST, OBJECT), [mixed], texts):
        check_depth(json.dumps(fine).encode())
    for bad in (deep(DEEPEST + 1), [deep(DEEPEST), 1], {"a": [deep(DEEPEST - 1)]}, {"a": [mixed]}, ['\\"', deep(DEEPEST)]):
        with pytest.raises(ValueError, match="deep"):
            check_depth(json.dumps(bad).encode())


def test_brackets_in_texts_are_passed_over_whatever_is_escaped() -> None:
    """6.8: a text may end in any number of backslashes, and hold quotation marks among brackets."""
    odd = ["\\" * n + end for n in range(5) for end in ("", '"', '"[', "[", "{", "\n[", "\u2603")]
    fine = [odd * 20, ["[" * 300], deep(DEEPEST - 1)]
    check_depth(json.dumps(fine).encode())
    check_depth(json.dumps({text: [] for text in odd} | {"[" * 400: fine[0]}).encode())
    with pytest.raises(ValueError, match="deep"):
        check_depth(json.dumps([*odd, deep(DEEPEST)]).encode())


def test_a_long_text_is_passed_over_in_one_step() -> None:
    """6.8: what looking takes is a few copies of the text, not a hundred bytes for each of its letters."""
    data = json.dumps(["a" * 1_000_000, *[[]] * DEEPEST]).encode()
    tracemalloc.start()
    try:
        check_depth(data)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("given", [None, 5, "x", [], [{}], {1, 2}, object(), {"format": object()}, {"format": float("nan")}, deep(230)])
def test_a_snapshot_that_is_no_record_is_refused(given: Any) -> None:
    """R6.39: whatever is given, RestoreRejected says that it is none."""
    with pytest.raises(RestoreRejected) as caught:
        chain().graph.restore(given)
    assert caught.value.problems

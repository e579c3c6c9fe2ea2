"""What a restore refuses, and how it names it (R6.39, RST)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import NodeFailed, RestoreRejected, UnsupportedCheckpointFormat
from llm4s_notebook.graph import Command, CompiledGraph, Execution, GraphBuilder, GraphRuntime, RunConfig, StateKey, Suspended, ThreadState

from .graphs import chain, drive, fan, mixed


def rejected(graph: CompiledGraph[Any, Any], snapshot: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(RestoreRejected) as caught:
        graph.restore(snapshot)
    assert caught.value.graph_id == graph.id
    return caught.value.problems


async def snapshot_of(graph: CompiledGraph[Any, Any], execution: Execution, steps: int, **config: Any) -> dict[str, Any]:
    at: Any = execution
    for _ in range(steps):
        at = await graph.step(at, RunConfig(**config))
    return graph.snapshot(at.execution if isinstance(at, Suspended) else at)


async def test_unknown_and_undecodable_state_is_named() -> None:
    """RST-03."""
    made = chain()
    snapshot = await snapshot_of(made.graph, made.graph.start(1), 1)
    snapshot["state"] = {"gone": {"version": 1, "value": 1}, "log": {"version": 1, "value": ["a", 7]}}
    problems = rejected(made.graph, snapshot)
    assert problems[0] == "state key 'gone' is unknown"
    assert problems[1].startswith("state key 'log' does not decode: $[1]")
    snapshot["state"] = {"log": {"version": 2, "value": []}}
    assert "schema version 2" in rejected(made.graph, snapshot)[0]
    snapshot["state"] = {"log": 7}
    assert "does not decode" in rejected(made.graph, snapshot)[0]


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ([b'"a"', b"7", b"true"], r"\$\[1\]: .*; \$\[2\]: "),
        ([b'"a"', b'"b'], "Invalid JSON"),
        ([b'"a"', b'"b", "c"'], "no value by itself"),  # two for one
        ([b'"a"', b'"b', b'c"'], "no value by itself"),  # one for two
        ([b'"a"', b""], "Invalid JSON"),
        ([b'"\\ud800"'], "Invalid JSON"),
    ],
)
async def test_each_stored_item_is_one_value(stored: list[bytes], said: str) -> None:
    """RST-03, D17: a list is what its items are, one by one; every fault is named by its place in the list."""
    made = chain()
    runtime = GraphRuntime.in_memory()
    await runtime.run("t", made.graph, 1)
    (checkpoint, *_) = await runtime.history("t", limit=1)
    damaged = replace(checkpoint, entries={**checkpoint.entries, ("state", "log"): stored})
    with pytest.raises(RestoreRejected, match="state key 'log' does not decode: ") as refused:
        made.graph.restore(damaged)
    assert re.search(said, "".join(refused.value.problems), re.DOTALL)


async def test_damaged_tasks_are_named() -> None:
    """R6.39: unknown node, undecodable input, unknown join, half a slot, half an origin, unknown origin node, duplicate id."""
    made = fan()
    snapshot = await snapshot_of(made.graph, made.graph.start(["a"]), 1)
    (task,) = snapshot["tasks"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"node": "gone"}, "pending task 1.0: node 'gone' is unknown"),
        ({"node": 7}, "pending task 1.0: it names no node"),
        ({"input": 7}, "pending task 1.0: its input does not decode"),
        ({"slot_join": "gone"}, "pending task 1.0: join 'gone' is unknown"),
        ({"slot_task": None}, "pending task 1.0: half a join slot"),
        ({"origin_task": "0.0"}, "pending task 1.0: half an origin"),
        ({"origin_task": "0.0", "origin_node": "gone"}, "pending task 1.0: origin node 'gone' is unknown"),
        ({"slot_task": "9.9"}, "pending task 1.0: no activation of join 'work' by task 9.9 is open"),
    ]
    for change, named in cases:
        problems = rejected(made.graph, {**snapshot, "tasks": [{**task, **change}]})
        assert any(problem.startswith(named) for problem in problems), (named, problems)
    assert rejected(made.graph, {**snapshot, "tasks": [task, task]}) == ("pending task 1.0: the id occurs twice",)
    assert rejected(made.graph, {**snapshot, "tasks": [{k: v for k, v in task.items() if k != "input"}]})[0].endswith(
        "its input is missing"
    )
    assert "it has no id or is no record" in rejected(made.graph, {**snapshot, "tasks": [7, task]})[0]


async def test_a_damaged_parked_record_is_named() -> None:
    """SUS-12, R6.39: resume node, question, origin, half slot, duplicate, missing."""
    made = fan()
    held = await drive(made.graph, made.graph.start(["ask a", "ask b"]))
    assert isinstance(held, Suspended)
    snapshot = made.graph.snapshot(held.execution)
    first, second = snapshot["parked"]
    damaged = [
        ({**first, "node": "worker"}, "parked interrupt 1.0: node 'worker' is no resume node"),
        ({**first, "question": 7}, "parked interrupt 1.0: its question does not decode"),
        ({**first, "origin_node": "gone"}, "parked interrupt 1.0: origin node 'gone' is unknown"),
        ({k: v for k, v in first.items() if k != "slot_task"}, "parked interrupt 1.0: half a join slot"),
        (second, "parked interrupt 1.1: the id occurs twice"),
        (None, "activation of join 'work' by task 0.0: waits for 1.0, which is neither pending nor parked"),
    ]
    for record, named in damaged:
        parked = [second] if record is None else [record, second]
        with pytest.raises(RestoreRejected) as caught:
            made.graph.restore({**snapshot, "parked": parked})
        assert any(problem.startswith(named) for problem in caught.value.problems), (named, caught.value.problems)
    with pytest.raises(RestoreRejected) as caught:
        made.graph.restore({**snapshot, "parked": [damaged[0][0], damaged[0][0], {**second, "question": 7}]})
    assert len(caught.value.problems) >= 3


async def test_damaged_joins_are_named() -> None:
    """RST-05, R6.39."""
    graph = mixed()
    snapshot = await snapshot_of(graph, graph.start(None), 2)
    (activation,) = snapshot["activations"]
    assert snapshot["arrivals"] == {"both": ["left"]}
    assert activation == {"join": "fan", "task": "0.0", "expected": ["1.0", "1.1", "1.2"], "arrived": ["1.0", "1.2"]}
    where = "activation of join 'fan' by task 0.0"
    activations: list[tuple[list[Any], str]] = [
        ([{**activation, "expected": ["1.0", "1.1", "1.2", "1.9"]}], f"{where}: waits for 1.9, which is neither pending nor parked"),
        ([{**activation, "arrived": ["1.0", "7.7"]}], f"{where}: unexpected arrivals 7.7"),
        ([{**activation, "join": "gone"}], "activation of join 'gone' by task 0.0: the join is unknown"),
        ([activation, activation], f"{where}: it occurs twice"),
        ([{**activation, "arrived": ["1.0", "1.1", "1.2"]}], f"{where}: it is complete"),
        ([{"join": "fan"}], "activation {'join': 'fan'} is no record of one"),
        ([], "parked interrupt 1.1: no activation of join 'fan' by task 0.0 is open"),
    ]
    for damage, named in activations:
        problems = rejected(graph, {**snapshot, "activations": damage})
        assert named in problems, (named, problems)
    arrivals: list[tuple[Any, str]] = [
        ({"gone": ["left"]}, "static join 'gone' is unknown"),
        ({"both": ["start"]}, "static join 'both': 'start' is no source of it"),
        ({"both": []}, "static join 'both': its arrivals are empty"),
        ({"both": ["left", "slower"]}, "static join 'both': its arrivals are complete"),
    ]
    for damage, named in arrivals:
        assert rejected(graph, {**snapshot, "arrivals": damage}) == (named,)


async def test_another_graph_is_refused_and_everything_wrong_is_listed_together() -> None:
    """R6.39."""
    made = chain()
    snapshot = await snapshot_of(made.graph, made.graph.start(1), 1)
    problems = rejected(fan().graph, {**snapshot, "superstep": -1, "paused": 1})
    assert problems == (
        "it was stored by graph id 'chain', this graph has 'fan'",
        "superstep -1 is no number from 0 up",
        "paused is 1, neither true nor false",
        "state key 'log' is unknown",
        "pending task 1.0: node 'middle' is unknown",
    )
    assert "fingerprint" in rejected(made.graph, {**snapshot, "fingerprint": "other"})[0]
    assert "version 'other'" in rejected(made.graph, {**snapshot, "graph_version": "other"})[0]
    for name in ("state", "tasks", "parked", "activations", "arrivals"):
        assert rejected(made.graph, {k: v for k, v in snapshot.items() if k != name}) == (f"'{name}' is missing or of the wrong kind",)


@pytest.mark.parametrize("found", [2, 0, None, "1", True, 1.5])
async def test_a_snapshot_of_another_format_is_not_read(found: object) -> None:
    """FMT-05, R6.5."""
    made = chain()
    snapshot = {**made.graph.snapshot(made.graph.start(1)), "format": found}
    with pytest.raises(UnsupportedCheckpointFormat) as caught:
        made.graph.restore(snapshot)
    assert caught.value.found == found


@pytest.mark.parametrize("at", [("meta", "birth"), ("task", "1.0"), ("parked", "1.1"), ("activation", "0.0:join"), "body"])
async def test_a_damaged_row_is_named_as_damage_and_not_as_a_crash(at: Any) -> None:
    """R6.39: a stored record that is no JSON any more; the thread's other checkpoints are not to blame."""
    made = fan()
    runtime = GraphRuntime.in_memory()
    config = RunConfig(interrupt_before=frozenset({"worker"}))
    assert isinstance(await runtime.run("t", made.graph, ["a", "b"], config), Suspended)
    (checkpoint, *_) = await runtime.history("t", limit=1)
    if at == "body":
        damaged = replace(checkpoint, header=checkpoint.header.replaced(body=b"{{"))
    else:
        section = (
            next(known for known in checkpoint.entries if known[0] == at[0]) if at[0] in {one for one, _ in checkpoint.entries} else at
        )
        damaged = replace(checkpoint, entries={**checkpoint.entries, section: b"{{"})
    with pytest.raises(RestoreRejected, match=f"checkpoint '{checkpoint.id}' is damaged") as refused:
        made.graph.restore(damaged)
    assert "copy" in refused.value.next_step


async def test_an_unreadable_update_is_refused_when_it_is_made_not_when_it_is_read(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D4: a value that would not decode again never reaches the file."""
    from typing import Annotated

    from pydantic import Field

    small: Any = Annotated[int, Field(lt=10)]
    key: StateKey[int, int] = StateKey.replace("k", small, initial=0)
    number: StateKey[float, float] = StateKey.replace("f", float, initial=0.0)
    for which, value in ((key, 11), (number, float("nan")), (number, float("inf"))):
        builder = GraphBuilder("g", version="1")

        @builder.node("start", writes=[key, number])
        async def start(state: ThreadState) -> Command:
            return Command().update(which, value)  # noqa: B023 - run at once

        graph = builder.compile(start, output=lambda _: None)
        with pytest.raises(NodeFailed):
            await drive(graph, graph.start(None))

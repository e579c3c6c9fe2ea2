"""What an error carries: its type and fields are the contract, its words are not (R9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, InvalidGraph, InvalidResume, RestoreRejected
from llm4s_notebook.graph import GraphBuilder, GraphRuntime, RunConfig, StateKey

from .graphs import drive, fan, nothing, output, trace


def named(problems: Sequence[object], wanted: Sequence[str]) -> bool:
    """Each offending id has a problem of its own that names it."""
    left = [str(problem) for problem in problems]
    for id in wanted:
        mine = next((problem for problem in left if id in problem), None)
        if mine is None:
            return False
        left.remove(mine)
    return True


def test_an_invalid_graph_names_each_offending_id() -> None:
    """R9.1, R2.1."""
    builder = GraphBuilder("graph-x", version="1")
    entry = builder.node("entry", writes=[StateKey.replace("key-x", int, initial=0), StateKey.replace("key-x", int, initial=1)])(nothing)
    builder.declare("node-x")
    builder.declare("node-y")
    builder.static_join("join-x", [], entry)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(entry, output=lambda _: None)
    assert caught.value.graph_id == "graph-x"
    assert named(caught.value.problems, ["node-x", "node-y", "join-x", "key-x"])


async def test_a_refused_configuration_names_each_unknown_node(runtime: GraphRuntime) -> None:
    """R9.1, R5.4."""
    config = RunConfig(interrupt_before=["node-x", "node-y"], interrupt_after=["node-x"])
    with pytest.raises(ConfigError) as caught:
        await runtime.start("t", fan().graph, [], config)
    assert caught.value.field == "breakpoints"
    assert named(caught.value.problems, ["node-x", "node-y", "node-x"])


async def test_a_refused_resume_names_each_offending_interrupt(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R9.1, R4.10: by its id, with a code a program can act on."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b", "ask c"])
    before = await trace(store)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", made.graph, {"id-y": 1, "1.2": "no", "id-x": 1, "1.0": True, "1.1": 7})
    assert caught.value.graph_id == "fan"
    assert [(one.interrupt_id, one.code) for one in caught.value.problems] == [
        ("id-x", "unknown"),
        ("id-y", "unknown"),
        ("1.1", "invalid"),
        ("1.2", "invalid"),
    ]
    assert await trace(store) == before


async def test_a_refused_restore_names_each_offending_id() -> None:
    """R9.1, R6.39."""
    made = fan()
    held: Any = await drive(made.graph, made.graph.start(["ask a", "b"]))
    snapshot = made.graph.snapshot(held.execution)
    snapshot["state"]["key-x"] = {"version": 1, "value": 1}
    snapshot["parked"][0]["node"] = "node-x"
    snapshot["arrivals"] = {"join-x": ["node-y"]}
    snapshot["activations"].append({"join": "join-y", "task": "9.9", "expected": ["8.8"], "arrived": []})
    with pytest.raises(RestoreRejected) as caught:
        made.graph.restore(snapshot)
    assert caught.value.graph_id == "fan"
    assert named(caught.value.problems, ["key-x", "node-x", "join-x", "join-y", "8.8"])
    assert output(await drive(made.graph, made.graph.resume(held.execution, {"1.0": True})))

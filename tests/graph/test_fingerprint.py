"""What of a graph is in its fingerprint, and what is not (R1.36, R1.37)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.errors import RestoreRejected
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, RunConfig, StateKey

from .graphs import nothing

A, B = StateKey.replace("a", int, initial=0), StateKey.replace("b", int, initial=0)


def built(
    *,
    id: str = "g",
    version: str = "1",
    entry: str = "one",
    nodes: tuple[str, ...] = ("one", "two", "three"),
    edges: tuple[tuple[str, str], ...] = (("one", "two"), ("two", "three")),
    static: tuple[tuple[str, tuple[str, ...], str], ...] = (("s", ("one", "two"), "three"), ("t", ("one",), "two")),
    dynamic: tuple[tuple[str, str], ...] = (("d", "three"), ("e", "two")),
    resume: tuple[str, ...] = ("ask", "again"),
    keys: tuple[StateKey[Any, Any], ...] = (A, B),
    writer: str = "one",
    routes: bool = False,
    input: Any = None,
    body: Callable[..., Any] = nothing,
    bookkeeping: bool = False,
) -> CompiledGraph[Any, Any]:
    """A graph with some of everything."""
    builder = GraphBuilder(id, version=version)
    refs: dict[str, Any] = {name: builder.declare(name) for name in nodes}
    for name in resume:
        refs[name] = builder.declare_resume(name, question=str, answer=str)
    for name, ref in refs.items():
        builder.implement(
            ref, writes=keys if name == writer else (), routes=[*refs.values()] if routes else (), bookkeeping=bookkeeping and name == "two"
        )(body)
    if input is not None:
        refs["alone"] = builder.node("alone", input=input)(lambda given, state, context: None)
    builder.reads(*keys)
    for source, target in edges:
        builder.edge(refs[source], refs[target])
    for join, sources, target in static:
        builder.static_join(join, [refs[source] for source in sources], refs[target])
    for join, target in dynamic:
        builder.dynamic_join(join, refs[target])
    return builder.compile(refs[entry], output=lambda _: None)


def test_the_same_graph_built_twice_has_the_same_fingerprint() -> None:
    """BLD-01, R1.36: SHA-256 in hex; id and version are as given."""
    one, two = built(), built()
    assert (one.id, one.version) == ("g", "1")
    assert one.fingerprint == two.fingerprint
    assert len(one.fingerprint) == len(hashlib.sha256().hexdigest())


@pytest.mark.parametrize(
    "change",
    [
        {"id": "h"},
        {"version": "2"},
        {"entry": "two"},
        {"nodes": ("one", "two", "three", "four")},
        {"edges": (("one", "two"),)},
        {"edges": (("two", "three"), ("one", "two"))},
        {"static": (("s", ("one", "two"), "three"),)},
        {"static": (("t", ("one",), "two"), ("s", ("one", "two"), "three"))},
        {"static": (("s", ("one", "three"), "three"), ("t", ("one",), "two"))},
        {"static": (("s", ("one", "two"), "two"), ("t", ("one",), "two"))},
        {"static": (("u", ("one", "two"), "three"), ("t", ("one",), "two"))},
        {"dynamic": (("d", "three"),)},
        {"dynamic": (("d", "two"), ("e", "two"))},
        {"dynamic": (("f", "three"), ("e", "two"))},
        {"resume": ("ask",)},
        {"nodes": ("one", "two", "three", "again"), "resume": ("ask",)},
        pytest.param({"keys": (A,)}, id="a key less"),
        pytest.param({"keys": (A, StateKey.replace("c", int, initial=0))}, id="another key"),
    ],
    ids=str,
)
def test_another_shape_has_another_fingerprint(change: dict[str, Any]) -> None:
    """BLD-02, R1.36: id, version, entry, nodes, edges in their order, joins with sources and targets, resume nodes, keys."""
    assert built(**change).fingerprint != built().fingerprint


async def other() -> Command:
    return Command()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"nodes": ("three", "one", "two")}, id="order of nodes"),
        pytest.param({"resume": ("again", "ask")}, id="order of resume nodes"),
        pytest.param({"static": (("s", ("two", "one", "two"), "three"), ("t", ("one",), "two"))}, id="order of sources"),
        pytest.param({"keys": (B, A)}, id="order of keys"),
        pytest.param({"keys": (StateKey.appending("a", str), StateKey.replace("b", str, initial=""))}, id="what keys hold"),
        pytest.param({"writer": "two"}, id="write sets"),
        pytest.param({"routes": True}, id="declared routes"),
        pytest.param({"body": other}, id="code"),
        pytest.param({"bookkeeping": True}, id="bookkeeping"),
    ],
)
def test_what_is_no_shape_is_no_part_of_the_fingerprint(change: dict[str, Any]) -> None:
    """R1.36: the order of nodes, sources and keys, write sets, what keys hold, code, and what only a diagram or a store is told."""
    assert built(**change).fingerprint == built().fingerprint


def test_input_types_are_no_part_of_the_fingerprint() -> None:
    """R1.36: a schema has a version of its own (R1.38)."""
    assert built(input=int).fingerprint == built(input=dict[str, list[int]]).fingerprint


async def test_a_run_with_holds_belongs_to_the_same_graph() -> None:
    """R1.37: neither version nor fingerprint know of breakpoints; another fingerprint alone is refused."""
    graph, again, changed = built(), built(), built(edges=())
    held: Any = await graph.step(graph.start(None), RunConfig(interrupt_before="one"))
    snapshot = graph.snapshot(held.execution)
    assert (snapshot["graph_version"], snapshot["fingerprint"]) == ("1", again.fingerprint)
    assert [one["node"] for one in again.snapshot(again.restore(snapshot))["parked"]] == ["one"]
    with pytest.raises(RestoreRejected, match="fingerprint"):
        changed.restore(snapshot)

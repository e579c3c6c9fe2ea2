"""What is of no kind that was asked for: the builder collects it, a key and a node's result refuse it (R2.1, R2.2i, R1.13, R1.24)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError, InvalidGraph, NodeFailed
from llm4s_notebook.graph import Block, Command, Fail, GraphBuilder, GraphRuntime, StateKey

from .graphs import LOG, nothing

BUILDS: dict[str, tuple[Callable[[GraphBuilder, Any, Any], object], str]] = {
    "writes": (lambda builder, start, bad: builder.node("n", writes=bad)(nothing), "node 'n': what it writes"),
    "routes": (lambda builder, start, bad: builder.node("n", routes=bad)(nothing), "node 'n': its routes"),
    "implemented writes": (lambda builder, start, bad: builder.implement(builder.declare("n"), writes=bad)(nothing), "node 'n': what it"),
    "sources": (lambda builder, start, bad: builder.static_join("j", bad, start), "the sources of join 'j'"),
    "node": (lambda builder, start, bad: builder.node(bad)(nothing), "a node's id"),
    "declare": (lambda builder, start, bad: builder.implement(builder.declare(bad))(nothing), "a node's id"),
    "declare_resume": (lambda builder, start, bad: builder.declare_resume(bad, question=str, answer=str), "a node's id"),
    "static_join": (lambda builder, start, bad: builder.static_join(bad, start, start), "a join's id"),
    "dynamic_join": (lambda builder, start, bad: builder.dynamic_join(bad, start), "a join's id"),
    "version": (lambda builder, start, bad: builder.node("n", version=bad)(nothing), "node 'n': its version"),
    "question's version": (
        lambda builder, start, bad: builder.declare_resume("n", question=str, answer=str, version=bad),
        "node 'n': its version",
    ),
    "migrations": (lambda builder, start, bad: builder.node("n", version=2, migrations={1: bad})(nothing), "node 'n': its migration from"),
}


@pytest.mark.parametrize("bad", [1.5, None, b"x"])
@pytest.mark.parametrize("call", BUILDS)
def test_what_is_of_no_kind_is_a_problem_among_all_others(call: str, bad: Any) -> None:
    """R2.1: no call of the builder raises; `compile` names it beside everything else that is wrong."""
    build, said = BUILDS[call]
    if bad == b"x" and call in ("writes", "routes", "implemented writes", "sources"):
        bad = object()  # bytes are several numbers
    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(nothing)
    build(builder, start, bad)
    builder.declare("forgotten")
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(start, output=lambda _: None)
    assert any(problem.startswith(said) for problem in caught.value.problems), caught.value.problems
    assert "node 'forgotten' is declared and never implemented" in caught.value.problems


@pytest.mark.parametrize("bad", [None, 5, b"g", [], "\ud800"])
def test_a_graph_is_named_by_texts(bad: Any) -> None:
    """R1.36, R2.1: id, version and parts are texts that can be stored; the output is a function."""
    builder = GraphBuilder(bad, version=bad, parts={"prompt": bad})
    start = builder.node("start")(nothing)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(start, output=bad)
    for said in ("the graph id", "the graph version", "the digest of a part", "the output"):
        assert any(problem.startswith(said) for problem in caught.value.problems), said
    if bad is not None:
        with pytest.raises(InvalidGraph, match=r"the graph's parts"):
            GraphBuilder("g", version="1", parts=bad).compile(start, output=lambda _: None)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("id", {"id": 5}),
        ("id", {"id": "\ud800"}),
        ("value", {"value": object()}),
        ("value", {"update": object()}),
        ("reduce", {"reduce": 5}),
        ("version", {"version": "1"}),
        ("version", {"version": True}),
        ("version", {"migrations": 5}),
        ("version", {"version": 2, "migrations": {1: 5}}),
    ],
)
def test_a_key_of_no_kind_is_refused(field: str, given: dict[str, Any]) -> None:
    """R1.13, R1.38: ConfigError on the field, where the key is made."""
    usual: dict[str, Any] = {"id": "k", "value": str, "update": str, "initial": "", "reduce": lambda old, new: new}
    with pytest.raises(ConfigError) as caught:
        StateKey(**{**usual, **given})
    assert caught.value.field == field
    assert StateKey(**usual).id == "k"


@pytest.mark.parametrize("kind", [Block, Fail])
@pytest.mark.parametrize("error", [None, "no", ValueError])
async def test_a_block_or_failure_without_an_error_is_a_failure(runtime: GraphRuntime, kind: Any, error: Any) -> None:
    """R1.24, R3.6: what was meant to stop the turn never lets it pass, and nothing of it is committed."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Any:
        return kind(error, Command().update(LOG, "meant to end")) if kind is Block else kind(error)

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(NodeFailed) as caught:
        await runtime.run("t", graph, None)
    assert kind.__name__ in str(caught.value)
    assert isinstance(caught.value.__cause__, TypeError)
    latest = (await runtime.history("t"))[0]
    assert not latest.status.settled
    assert not graph.restore(latest).state.is_set(LOG)


async def test_a_block_ends_a_turn_with_an_exception_only(runtime: GraphRuntime) -> None:
    """R1.24, R3.20: an interrupt or a cancellation is nothing that a turn can be closed with; it would stop the loop, not the turn."""
    builder = GraphBuilder("g", version="1")

    @builder.node("start")
    async def start() -> Block:
        return Block(KeyboardInterrupt())

    with pytest.raises(NodeFailed, match="Block takes the exception"):
        await runtime.run("t", builder.compile(start, output=lambda _: None), None)

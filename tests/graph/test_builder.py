"""Building and validating graphs (R2, BLD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from llm4s_notebook.errors import InvalidGraph
from llm4s_notebook.graph import (
    Breakpoint,
    Command,
    CompiledGraph,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    RunContext,
    StateKey,
    ThreadState,
)

from .graphs import ITEMS, LOG, chain, drive, ids, nothing, output

A = StateKey.replace("a", int, initial=0)


def small(*, edge: bool = True, id: str = "g", version: str = "1") -> CompiledGraph[Any, Any]:
    builder = GraphBuilder(id, version=version)

    @builder.node("first", writes=A)
    async def first() -> None: ...

    @builder.node("second")
    async def second() -> None: ...

    if edge:
        builder.edge(first, second)
    return builder.compile(first, output=lambda state: state[A])


def test_the_same_graph_built_twice_has_the_same_fingerprint() -> None:
    """BLD-01, R1.36."""
    one, two = small(), small()
    assert (one.id, one.version) == ("g", "1")
    assert one.fingerprint == two.fingerprint
    assert len(one.fingerprint) == 64


@pytest.mark.parametrize("other", [small(edge=False), small(id="h"), small(version="2")])
def test_another_shape_has_another_fingerprint(other: CompiledGraph[Any, Any]) -> None:
    """BLD-02, R1.36."""
    assert other.fingerprint != small().fingerprint


def test_breakpoints_and_routes_are_no_part_of_the_fingerprint() -> None:
    """R1.36, R1.37: `routes` only tells a diagram where a node may go."""

    def build(routes: bool) -> str:
        builder = GraphBuilder("g", version="1")
        target = builder.declare("target")
        builder.implement(target)(nothing)
        first = builder.node("first", routes=target if routes else ())(nothing)
        return builder.compile(first, output=lambda _: None).fingerprint

    assert build(True) == build(False)


def test_compile_reports_every_fault_at_once() -> None:
    """BLD-03, R2.1, R2.2: no builder call raises, `compile` names all of it."""
    other = GraphBuilder("other", version="1")
    foreign = other.node("foreign")(nothing)
    builder = GraphBuilder("", version="1")
    twice = builder.node("twice")(nothing)
    builder.node("twice")(nothing)
    builder.implement(twice)(nothing)
    builder.node("")(nothing)
    builder.declare("missing")
    builder.implement(foreign)(nothing)
    builder.edge(twice, foreign)
    builder.edge(foreign, twice)
    builder.static_join("empty", [], twice)
    builder.static_join("joined", [foreign], foreign)
    builder.dynamic_join("joined", foreign)
    builder.dynamic_join("fanned", foreign)
    builder.dynamic_join("", twice)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(foreign, output=lambda _: None)
    assert caught.value.graph_id == ""
    problems = "\n".join(caught.value.problems)
    for wanted in (
        "the graph id is empty",
        "a node id is empty",
        "a join id is empty",
        "node 'twice' is declared twice",
        "node 'twice' is implemented twice",
        "node 'missing' is declared and never implemented",
        "node 'foreign' of another builder is implemented here",
        "the target of edge twice -> foreign is node 'foreign' of another builder",
        "the source of edge foreign -> twice is node 'foreign' of another builder",
        "join 'empty' has no sources",
        "join id 'joined' is declared twice",
        "a source of join 'joined' is node 'foreign' of another builder",
        "the target of join 'joined' is node 'foreign' of another builder",
        "the target of join 'fanned' is node 'foreign' of another builder",
        "the entry is node 'foreign' of another builder",
    ):
        assert wanted in problems, wanted


def test_unequal_keys_of_one_id_are_a_problem_and_an_empty_key_id_too() -> None:
    """BLD-04, R2.2h, D1."""
    builder = GraphBuilder("g", version="1")
    first = builder.node("first", writes=[StateKey.replace("k", int, initial=0), StateKey.replace("", int, initial=0)])(nothing)
    builder.reads(StateKey.replace("k", str, initial=""), StateKey.replace("k", int, initial=1))
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(first, output=lambda _: None)
    assert caught.value.problems == ("a state key id is empty", "state key id 'k' is shared by 3 unequal keys")


def test_of_equal_keys_the_last_one_given_supplies_the_reduce_function() -> None:
    """D1: a re-run cell makes an equal key, and its new function counts."""

    def key(by: int) -> StateKey[int, int]:
        return StateKey("n", int, int, initial=0, reduce=lambda now, more: now + more * by)

    old, new = key(1), key(10)
    assert old == new
    assert hash(old) == hash(new)
    builder = GraphBuilder("g", version="1")

    @builder.node("first", writes=old)
    async def first() -> Command:
        return Command().update(old, 2)

    builder.reads(new)
    graph = builder.compile(first, output=lambda state: state[old])
    assert graph.keys == (old,)
    assert graph.keys[0] is new


async def test_the_replaced_reduce_function_runs() -> None:
    """D1."""
    old = StateKey("n", int, int, initial=0, reduce=lambda now, more: now + more)
    new = StateKey("n", int, int, initial=0, reduce=lambda now, more: now + more * 10)
    builder = GraphBuilder("g", version="1")

    @builder.node("first", writes=old)
    async def first() -> Command:
        return Command().update(old, 2)

    builder.reads(new)
    graph = builder.compile(first, output=lambda state: state[new])
    assert output(await drive(graph, graph.start(None))) == 20


def test_an_edge_to_a_node_with_a_payload_is_a_problem() -> None:
    """R1.26."""
    builder = GraphBuilder("g", version="1")

    @builder.node("takes")
    async def takes(n: int) -> None: ...

    builder.edge(takes, takes)
    with pytest.raises(InvalidGraph, match="takes a payload of type int"):
        builder.compile(takes, output=lambda _: None)


def test_topology_tells_a_diagram_everything() -> None:
    """The diagram's nodes, edges, possible routes, joins and entry."""
    builder = GraphBuilder("g", version="1")
    done = builder.node("done")(nothing)
    ask = builder.declare_resume("ask", question=str, answer=bool)
    fanned = builder.dynamic_join("fanned", done)

    @builder.implement(ask, writes=A)
    async def asked(given: Resumed[str, bool]) -> None: ...

    @builder.node("first", routes=[fanned, ask, done], bookkeeping=True)
    async def first() -> None: ...

    builder.edge(first, done)
    builder.static_join("both", [first, ask], done)
    shape = builder.compile(first, output=lambda _: None).topology()
    assert shape.entry == "first"
    assert [(n.id, n.resume, n.writes, n.bookkeeping) for n in shape.nodes] == [
        ("done", False, (), False),
        ("ask", True, ("a",), False),
        ("first", False, (), True),
    ]
    assert shape.edges == (("first", "done"),)
    assert shape.routes == (("first", "fanned"), ("first", "ask"), ("first", "done"))
    assert [(j.id, j.kind, j.sources, j.target) for j in shape.joins] == [
        ("both", "static", ("first", "ask"), "done"),
        ("fanned", "dynamic", (), "done"),
    ]


# -- how a node's function gets what it needs ----------------------------------------------------------------------------


async def _given(function: Any, input: Any = 5, **options: Any) -> list[str]:
    """What a one-node graph's function said it was given."""
    said = StateKey.appending("said", str)
    builder = GraphBuilder("g", version="1")
    ref = builder.node("first", writes=said, **options)(function)
    graph = builder.compile(ref, output=lambda state: state[said])
    result = output(await drive(graph, graph.start(input)))
    assert isinstance(result, list)
    return result


SAID = StateKey.appending("said", str)


def _said(*things: object) -> Command:
    command = Command()
    for thing in things:
        command = command.update(SAID, type(thing).__name__)
    return command


async def test_state_and_context_are_injected_by_annotation_in_any_order() -> None:
    """api.md: the parameter left is the input."""

    async def one(context: RunContext, n: int, state: ThreadState) -> Command:
        return _said(context, n, state)

    async def keyword(*, state: ThreadState, n: int) -> Command:
        return _said(n, state)

    async def only_context(context: RunContext) -> Command:
        return _said(context)

    async def swapped(state: ThreadState, n: int) -> Command:
        return _said(state, n)

    assert await _given(one) == ["RunContext", "int", "ThreadState"]
    assert await _given(keyword) == ["int", "ThreadState"]
    assert await _given(swapped) == ["ThreadState", "int"]
    assert await _given(only_context, None) == ["RunContext"]


async def test_three_positional_parameters_work_without_annotations() -> None:
    """api.md: `(input, state, context)`; without an input type there is no payload."""

    async def bare(n, state, context):  # type: ignore[no-untyped-def]
        return _said(n, state, context)

    assert await _given(bare, None) == ["NoneType", "ThreadState", "RunContext"]
    builder = GraphBuilder("g", version="1")
    first = builder.node("first", writes=SAID, input=int)(bare)
    graph = builder.compile(first, output=lambda state: state[SAID])
    assert output(await drive(graph, graph.start(7))) == ["int", "ThreadState", "RunContext"]


async def test_a_plain_function_a_method_and_a_callable_object_can_be_nodes() -> None:
    """api.md: a plain one is run in a worker thread (D24)."""

    class Thing:
        async def method(self, n: int) -> Command:
            return _said(n)

        def __call__(self, state: ThreadState, n: int) -> Command:
            return _said(n, state)

    assert await _given(Thing().method) == ["int"]
    assert await _given(Thing()) == ["int", "ThreadState"]
    assert await _given(lambda: _said(1), None) == ["int"]


async def test_a_class_defined_beside_the_node_may_annotate_it() -> None:
    """Annotations are text in this file: local names are found where the node is decorated."""

    @dataclass(frozen=True)
    class Local:
        n: int

    builder = GraphBuilder("g", version="1")

    @builder.node("first", writes=SAID)
    async def first(given: Local, state: ThreadState) -> Command:
        return _said(given)

    graph = builder.compile(first, output=lambda state: state[SAID])
    assert output(await drive(graph, graph.start(Local(1)))) == ["Local"]


def test_what_cannot_be_bound_is_a_problem_of_the_node() -> None:
    """R2.1: an unknown annotation and two inputs are reported by compile."""
    builder = GraphBuilder("g", version="1")

    async def two(a: int, b: str) -> None: ...

    async def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - that is the test

    first = builder.node("two")(two)
    builder.node("unknown")(unknown)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(first, output=lambda _: None)
    assert any("parameters a, b are left for one input" in problem for problem in caught.value.problems)
    assert any("the annotation of parameter 'a' cannot be resolved" in problem for problem in caught.value.problems)


async def test_a_compiled_graph_can_be_used_by_many_runs_at_once() -> None:
    """R2.7."""
    made = chain()
    first, second = made.graph.start(1), made.graph.start(2)
    assert output(await drive(made.graph, first)) == output(await drive(made.graph, second)) == ["start", "middle", "end"]


def test_the_keys_of_a_graph_are_those_written_and_those_registered() -> None:
    """R2.3."""
    builder = GraphBuilder("g", version="1")
    read = StateKey.replace("read", int, initial=0)

    @builder.node("only", writes=[LOG, ITEMS])
    async def only() -> None: ...

    builder.reads(read)
    assert {key.id for key in builder.compile(only, output=lambda _: None).keys} == {"log", "items", "read"}


async def test_the_projection_runs_only_when_a_run_completes(runtime: GraphRuntime) -> None:
    """R2.5: not at a hold, and once at the end."""
    seen: list[list[str]] = []
    builder = GraphBuilder("g", version="1")

    @builder.node("only", writes=LOG)
    async def only() -> Command:
        return Command().update(LOG, "only")

    def project(state: ThreadState) -> int:
        seen.append(state[LOG])
        return len(seen)

    graph = builder.compile(only, output=project)
    held = await runtime.run("t", graph, None, RunConfig(interrupt_after="only"))
    assert seen == []
    assert output(await (await runtime.resume("t", graph, {ids(held)[0]: Breakpoint.proceed}))) == 1
    assert seen == [["only"]]

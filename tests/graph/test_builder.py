"""Building and validating graphs (R2, BLD)."""

from __future__ import annotations

import asyncio

import pytest

from llm4s_notebook.errors import InvalidGraph
from llm4s_notebook.graph import (
    Breakpoint,
    Command,
    GraphBuilder,
    GraphRuntime,
    NodeRef,
    Resumed,
    RunConfig,
    StateKey,
    ThreadState,
)

from .graphs import ITEMS, LOG, drive, fan, ids, nothing, output, until

A = StateKey.replace("a", int, initial=0)


def test_compile_reports_every_fault_at_once() -> None:
    """BLD-03, R2.1, R2.2, R1.7: no builder call raises, `compile` names all of it."""
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
    """BLD-04, R2.2h, R1.7, D1."""
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


async def test_a_compiled_graph_can_be_used_by_many_runs_and_threads_at_once(runtime: GraphRuntime) -> None:
    """R2.7: with one runtime and in memory, while all of them are under way."""
    made = fan(delays=["gate"])
    handles = [await runtime.start(f"t{n}", made.graph, ["gate", f"{n}"]) for n in range(3)]
    steps = [asyncio.create_task(drive(made.graph, made.graph.start(["gate", f"{n}"]))) for n in range(3, 6)]
    elsewhere: list[list[str]] = []

    def other_loop() -> None:
        async def turn() -> list[str]:
            return output(await drive(made.graph, made.graph.start(["6"])))

        elsewhere.append(asyncio.run(turn()))

    await until(lambda: made.ran["gate"] == 6)
    await asyncio.to_thread(other_loop)
    made.delays["gate"].set()
    assert [output(one) for one in await asyncio.gather(*handles, *steps)] == [["planned", "GATE", f"{n}", "summ"] for n in range(6)]
    assert elsewhere == [["planned", "6", "summ"]]


def test_what_is_built_after_compiling_is_no_part_of_the_graph() -> None:
    """R2.7: the graph is finished; the builder may go on and compile another."""
    builder = GraphBuilder("g", version="1")
    first, second = builder.node("first", writes=A)(nothing), builder.node("second")(nothing)
    graph = builder.compile(first, output=lambda _: None)
    before = (graph.topology(), graph.fingerprint, graph.keys)
    builder.edge(first, second)
    builder.static_join("j", [first], second)
    builder.reads(StateKey.replace("b", int, initial=0))
    builder.node("third")(nothing)
    assert (graph.topology(), graph.fingerprint, graph.keys) == before
    assert builder.compile(first, output=lambda _: None).fingerprint != graph.fingerprint
    for name in ("id", "version", "fingerprint", "keys"):
        with pytest.raises(AttributeError):
            setattr(graph, name, "other")


def test_a_handle_that_was_never_declared_is_named() -> None:
    """R2.2e: in an edge on either side, in a join, and as the entry."""
    builder = GraphBuilder("g", version="1")
    known = builder.node("known")(nothing)
    stranger = NodeRef("stranger", known.owner, known.codec)
    builder.edge(known, stranger)
    builder.edge(stranger, known)
    builder.static_join("static", [stranger], stranger)
    builder.dynamic_join("dynamic", stranger)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(stranger, output=lambda _: None)
    assert [problem.partition(" is node 'stranger', which was never declared")[0] for problem in caught.value.problems] == [
        "the target of edge known -> stranger",
        "the source of edge stranger -> known",
        "a source of join 'static'",
        "the target of join 'static'",
        "the target of join 'dynamic'",
        "the entry",
    ]


def test_a_cycle_and_a_node_that_nothing_leads_to_are_no_problems() -> None:
    """R2.4: reachability is not checked."""
    builder = GraphBuilder("g", version="1")
    one, two = builder.declare("one"), builder.declare("two")
    builder.edge(one, two)
    builder.edge(two, one)
    builder.edge(one, one)
    builder.implement(one)(nothing)
    builder.implement(two)(nothing)
    builder.static_join("never", [builder.node("island")(nothing)], one)
    assert {shape.id for shape in builder.compile(one, output=lambda _: None).topology().nodes} == {"one", "two", "island"}


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

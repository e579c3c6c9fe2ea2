"""Nodes, the handles that name them, and what they lead to (1.3)."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import EncodeError, InvalidGraph, InvalidResume, InvalidRoute, NodeFailed
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, events
from llm4s_notebook.graph._execution import JoinSlot

from .graphs import LOG, ids, nothing, output

N = StateKey.replace("n", int, initial=0)


async def test_a_node_has_an_input_a_write_set_and_either_kind_of_function(runtime: GraphRuntime) -> None:
    """R1.20, D24: an async function runs on the loop, a plain one in a worker thread; both get the payload and write what they declare."""
    builder = GraphBuilder("g", version="1")
    threads: dict[str, int] = {}

    @builder.node("plain", writes=LOG)
    def plain(text: str) -> Command:
        threads["plain"] = threading.get_ident()
        return Command().update(LOG, f"plain {text}")

    @builder.node("start", writes=LOG)
    async def start(text: str) -> Command:
        threads["start"] = threading.get_ident()
        return Command().update(LOG, f"start {text}").send(plain, text.upper())

    graph = builder.compile(start, output=lambda state: state[LOG])
    assert {shape.id: shape.writes for shape in graph.topology().nodes} == {"plain": ("log",), "start": ("log",)}
    assert output(await runtime.run("t", graph, "a")) == ["start a", "plain A"]
    assert threads["start"] == threading.get_ident() != threads["plain"]


async def test_the_unit_input_is_null_and_a_payload_carries_its_schema_version(runtime: GraphRuntime) -> None:
    """R1.20, R1.35: what a pending task's record says of its input."""
    builder = GraphBuilder("g", version="1")
    unit = builder.node("unit")(nothing)

    @builder.node("versioned", version=3, migrations={1: lambda old: old, 2: lambda old: old})
    async def versioned(n: int) -> None: ...

    @builder.node("start")
    async def start() -> Command:
        return Command().goto(unit).send(unit, None).send(versioned, 7)

    graph = builder.compile(start, output=lambda _: None)
    after: Any = await graph.step(graph.start(None))
    tasks = graph.snapshot(after)["tasks"]
    assert [(task["node"], task["input"], task.get("version", 1)) for task in tasks] == [
        ("unit", None, 1),
        ("unit", None, 1),
        ("versioned", 7, 3),
    ]
    for payload in (0, False, "", {}, []):
        with pytest.raises(EncodeError):
            await runtime.start("t", graph, payload)


def leading(how: Any) -> CompiledGraph[None, None]:
    """start returns what `how` makes of this graph's own end, ask and join."""
    builder = GraphBuilder("g", version="1")
    end = builder.node("end")(nothing)
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)
    join = builder.dynamic_join("join", end)

    @builder.node("start")
    async def start() -> Any:
        return how(end, ask, join)

    return builder.compile(start, output=lambda _: None)


def namesakes() -> tuple[Any, Any, Any]:
    """The handles of another builder that made the very same graph."""
    builder = GraphBuilder("g", version="1")
    end = builder.node("end")(nothing)
    ask = builder.declare_resume("ask", question=str, answer=str)
    return end, ask, builder.dynamic_join("join", end)


@pytest.mark.parametrize(
    "how",
    [
        lambda end, ask, join: Command().goto(namesakes()[0]),
        lambda end, ask, join: Command().send(namesakes()[0], None),
        lambda end, ask, join: Command().fan_out(namesakes()[2], end, [None]),
        lambda end, ask, join: Command().fan_out(join, namesakes()[0], [None]),
        lambda end, ask, join: Suspend("?", namesakes()[1]),
        lambda end, ask, join: Command().goto("end"),
        lambda end, ask, join: Command().send("end", None),
        lambda end, ask, join: Command().fan_out("join", end, [None]),
        lambda end, ask, join: Command().fan_out(join, "end", [None]),
        lambda end, ask, join: Command().fan_out(end, end, [None]),
        lambda end, ask, join: Suspend("?", "ask"),
    ],
    ids=[
        *("goto a namesake", "send to a namesake", "fan out to a namesake of the join", "fan out to a namesake", "suspend to a namesake"),
        *("goto a text", "send to a text", "fan out to a text for a join", "fan out to a text", "fan out to a node for a join"),
        "suspend to a text",
    ],
)
async def test_only_the_builders_own_handles_lead_anywhere(how: Any) -> None:
    """R1.21, R1.22, R1.25: never a text, and never a handle of the same id that another builder issued."""
    graph = leading(how)
    with pytest.raises(InvalidRoute) as caught:
        await graph.step(graph.start(None))
    assert (caught.value.node_id, caught.value.task_id) == ("start", "0.0")


def test_a_text_where_a_handle_belongs_is_a_problem_that_compile_names() -> None:
    """R1.21, R2.1: in every call of the builder, and none of them raises."""
    builder = GraphBuilder("g", version="1")
    x: Any = builder.node("x", writes="key", routes="route")(nothing)  # type: ignore[arg-type]
    builder.edge("source", x)  # type: ignore[arg-type]
    builder.edge(x, "target")  # type: ignore[arg-type]
    builder.static_join("a", "alone", x)  # type: ignore[arg-type]
    builder.static_join("b", [x, "among"], "merge")  # type: ignore[arg-type, list-item]
    builder.dynamic_join("c", "joined")  # type: ignore[arg-type]
    builder.implement("implemented")(nothing)  # type: ignore[arg-type]
    builder.reads("read")  # type: ignore[arg-type]
    with pytest.raises(InvalidGraph) as caught:
        builder.compile("entry", output=lambda _: None)  # type: ignore[arg-type]
    told = "\n".join(caught.value.problems)
    for text in ("key", "route", "source", "target", "alone", "among", "merge", "joined", "implemented", "read", "entry"):
        assert f"'{text}'" in told, text


async def test_a_payload_of_another_type_fails_the_task_that_sends_it() -> None:
    """R1.22, R1.24, D4: strictly; the failure names the node that sends."""
    builder = GraphBuilder("g", version="1")
    end = builder.node("end")(nothing)
    join = builder.dynamic_join("join", end)

    @builder.node("takes")
    async def takes(n: int) -> None: ...

    @builder.node("start")
    async def start(fans: bool) -> Command:
        return Command().fan_out(join, takes, [1, "2"]) if fans else Command().send(takes, "1")  # type: ignore[list-item, arg-type]

    graph = builder.compile(start, output=lambda _: None)
    for fans in (False, True):
        with pytest.raises(NodeFailed) as caught:
            await graph.step(graph.start(fans))
        assert caught.value.node_id == "start"
        assert isinstance(caught.value.cause, EncodeError)


async def test_a_fan_out_makes_one_counted_task_per_payload_and_a_send_an_uncounted_one() -> None:
    """R1.22: in order, all counted by one activation."""
    builder = GraphBuilder("g", version="1")
    end = builder.node("end")(nothing)
    join = builder.dynamic_join("join", end)

    @builder.node("takes")
    async def takes(text: str) -> None: ...

    @builder.node("start")
    async def start() -> Command:
        return Command().send(takes, "alone").fan_out(join, takes, iter(["a", "b", "a"])).goto(end)

    graph = builder.compile(start, output=lambda _: None)
    after: Any = await graph.step(graph.start(None))
    assert [(task.id, task.node, task.input, task.slot) for task in after.frontier] == [
        ("1.0", "takes", b'"alone"', None),
        ("1.1", "takes", b'"a"', JoinSlot("join", "0.0")),
        ("1.2", "takes", b'"b"', JoinSlot("join", "0.0")),
        ("1.3", "takes", b'"a"', JoinSlot("join", "0.0")),
        ("1.4", "end", b"null", None),
    ]
    (one,) = after.activations.values()
    assert (one.join_id, one.fan_out_task, one.expected) == ("join", "0.0", ("1.1", "1.2", "1.3"))


class Need(BaseModel):
    what: str


class Given(BaseModel):
    value: int


async def test_a_resume_node_receives_question_and_answer_each_of_its_type(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.25: `Resumed(question, answer)`, encoded as an object of the two; the handle encodes a typed answer for the caller and owns
    both types, so that an answer of another one is refused."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=Need, answer=Given)
    got: list[Resumed[Need, Given]] = []

    @builder.implement(ask)
    async def answered(given: Resumed[Need, Given]) -> None:
        got.append(given)
        raise ValueError("stop here, so that the task stays to be seen")

    @builder.node("start")
    async def start() -> Suspend[Need, Given]:
        return Suspend(Need(what="region"), ask)

    graph = builder.compile(start, output=lambda _: None)
    assert ids(await runtime.run("t", graph, None)) == ["0.0"]
    assert ask.encode_answer(Given(value=7)) == {"value": 7}
    with pytest.raises(EncodeError):
        ask.encode_answer("seven")  # type: ignore[arg-type]
    with pytest.raises(InvalidResume):
        await runtime.resume("t", graph, {"0.0": {"value": "7"}})
    with pytest.raises(NodeFailed):
        await (await runtime.resume("t", graph, {"0.0": ask.encode_answer(Given(value=7))}))
    assert got == [Resumed(Need(what="region"), Given(value=7))]
    latest = await store.latest("t")
    assert latest is not None
    (task,) = graph.snapshot(graph.restore(latest.checkpoint))["tasks"]
    assert task["input"] == {"question": {"what": "region"}, "answer": {"value": 7}}


async def test_a_question_of_another_type_fails_the_task_that_asks() -> None:
    """R1.25, D4: the resume node's question type decides."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=int, answer=str)
    builder.implement(ask)(nothing)

    @builder.node("start")
    async def start() -> Suspend[Any, str]:
        return Suspend("1", ask)

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed) as caught:
        await graph.step(graph.start(None))
    assert isinstance(caught.value.cause, EncodeError)


async def test_static_edges_add_to_the_routes_of_any_node(runtime: GraphRuntime) -> None:
    """R1.26, R3.13: of one with a payload, and of a resume node; the edges of a node that suspended never fire."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    def says(name: str) -> Any:
        async def node() -> Command:
            return Command().update(LOG, name)

        return builder.node(name, writes=LOG)(node)

    edge, route, never, after = says("edge"), says("route"), says("never"), says("after")

    @builder.node("asks")
    async def asks() -> Suspend[str, str]:
        return Suspend("?", ask)

    @builder.implement(ask)
    async def answered(given: Resumed[str, str]) -> None: ...

    @builder.node("start")
    async def start(n: int) -> Command:
        return Command().goto(route).goto(asks)

    builder.edge(start, edge)
    builder.edge(asks, never)
    builder.edge(ask, after)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, 1)
    assert ids(held) == ["1.2"]
    assert held.state[LOG] == ["edge", "route"]
    assert output(await (await runtime.resume("t", graph, {"1.2": "x"}))) == ["edge", "route", "after"]


@pytest.mark.parametrize("where", ["edge", "static join", "dynamic join"])
def test_only_a_unit_input_node_is_the_target_of_an_edge_or_a_join(where: str) -> None:
    """R1.26, R1.27: nobody would give it its payload."""
    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(nothing)

    @builder.node("takes")
    async def takes(n: int) -> None: ...

    if where == "edge":
        builder.edge(start, takes)
    elif where == "static join":
        builder.static_join("join", [start], takes)
    else:
        builder.dynamic_join("join", takes)
    with pytest.raises(InvalidGraph, match="'takes', which takes a payload"):
        builder.compile(start, output=lambda _: None)


async def test_a_failed_node_result_ends_the_run_and_recover_runs_the_task_again(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.24: the checkpoint stays Running, and nothing of the task is kept."""
    fails = [True]
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        if fails:
            fails.pop()
            raise ValueError("once")
        return Command().update(LOG, "start")

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(NodeFailed):
        await runtime.run("t", graph, None)
    head = await store.head("t")
    assert (head.status, head.write_count) == ("Running", 0)
    assert output(await (await runtime.recover("t", graph))) == ["start"]
    told = [record.event for record in await store.events_after("t", 0)]
    assert [isinstance(event, events.TaskCompleted) for event in told].count(True) == 1

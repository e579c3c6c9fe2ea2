"""Recorded results of tasks whose superstep did not commit (R6.4, R6.40, FMT-06, FMT-07)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, Commit, PendingWrite
from llm4s_notebook.errors import NodeFailed, RestoreRejected
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, RunConfig
from llm4s_notebook.graph._reuse import reused_results

from .graphs import LOG, fan, nothing


async def test_a_recorded_result_says_whose_it_is(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.4: checkpoint, task, node, operations and routes; and for a task that asks, where it goes on and the question."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "ask", "b"])
    latest = await store.latest("t")
    assert latest is not None
    writes = {write.task_id: (write.checkpoint_id, write.node_id, json.loads(write.body)) for write in latest.writes}
    here = latest.checkpoint.id
    assert writes == {
        "1.0": (here, "worker", {"updates": [{"key": "items", "value": "A"}], "routes": []}),
        "1.1": (here, "worker", {"updates": [], "routes": [], "suspend": {"node": "approve", "question": "ask"}}),
    }
    assert all(isinstance(write, PendingWrite) for write in latest.writes)


async def test_a_damaged_pending_write_is_named() -> None:
    """FMT-07, R6.40: unknown task, node, key, join, undeclared key, bad payload, bad update, bad question."""
    made = fan()
    execution: Any = await made.graph.step(made.graph.start(["a", "b"]))
    plan = made.graph.plan

    def problems(body: Any, task: str = "1.0", node: str = "worker") -> tuple[str, ...]:
        with pytest.raises(RestoreRejected) as caught:
            reused_results(plan, execution, [PendingWrite("c", task, node, json.dumps(body).encode())])
        return caught.value.problems

    good: dict[str, Any] = {"updates": [{"key": "items", "value": "A"}], "routes": []}
    assert list(reused_results(plan, execution, [PendingWrite("c", "1.0", "worker", json.dumps(good).encode())])) == ["1.0"]
    where = "the recorded result of task 1.0"
    assert problems(good, task="9.9") == ("the recorded result of task 9.9: node 'worker' has no such pending task",)
    assert problems(good, node="plan") == (f"{where}: node 'plan' has no such pending task",)
    assert problems({**good, "updates": [{"key": "gone", "value": 1}]}) == (f"{where} writes unknown state key 'gone'",)
    assert problems({**good, "updates": [{"key": "items", "value": 7}]})[0].startswith(f"{where} its update of 'items' does not decode")
    assert problems({**good, "updates": [{"key": "items"}]}) == (f"{where} its update of 'items' has no value",)
    assert problems({**good, "routes": [{"node": "gone", "payload": None}]}) == (f"{where} routes to unknown node 'gone'",)
    assert problems({**good, "routes": [{"node": "worker", "payload": 7}]})[0].startswith(f"{where} the payload for node 'worker'")
    assert problems({**good, "routes": [{"join": "gone", "node": "worker", "payloads": []}]}) == (
        f"{where} fans out to unknown join 'gone'",
    )
    assert problems({**good, "routes": [7]}) == (f"{where} a route names no node",)
    assert problems({**good, "suspend": {"node": "worker", "question": "x"}}) == (f"{where} suspends to 'worker', which is no resume node",)
    assert problems({**good, "suspend": {"node": "approve", "question": 7}})[0].startswith(f"{where} its question does not decode")
    assert problems([]) == (f"{where} is no record",)


async def test_a_write_outside_the_nodes_write_set_is_named() -> None:
    """R6.40."""
    builder = GraphBuilder("g", version="1")
    builder.reads(LOG)
    graph = builder.compile(builder.node("start")(nothing), output=lambda _: None)
    body = b'{"updates":[{"key":"log","value":"x"}],"routes":[]}'
    with pytest.raises(RestoreRejected, match="does not declare"):
        reused_results(graph.plan, graph.start(None), [PendingWrite("c", "0.0", "start", body)])


async def test_a_command_with_everything_survives_its_pending_write() -> None:
    """FMT-06: every operation and route, encoded and decoded, gives the same result."""
    from llm4s_notebook.graph._check import check_result
    from llm4s_notebook.graph._context import RunContext, RunVoice
    from llm4s_notebook.graph._record import write_record

    builder = GraphBuilder("g", version="1")
    done = builder.declare("done")
    join = builder.dynamic_join("j", done)

    @builder.node("takes")
    async def takes(n: int) -> None: ...

    @builder.node("start", writes=LOG)
    async def start() -> Command: ...  # type: ignore[empty-body]

    builder.implement(done)(nothing)
    graph = builder.compile(start, output=lambda _: None)
    command = Command().update(LOG, "é😀").remove(LOG).update(LOG, "b").goto(done).send(takes, 3).fan_out(join, takes, [1, 2])
    execution = graph.start(None)
    task = execution.frontier[0]
    context = RunContext(RunVoice(RunConfig()), "", "0.0", "start", 0)
    result = check_result(graph.plan, graph.plan.nodes["start"], task, command, context)
    body = write_record(graph.plan, result)
    (again,) = reused_results(graph.plan, execution, [PendingWrite("c", "0.0", "start", body)]).values()
    assert replace(again, recorded=False) == result


async def test_a_damaged_pending_write_is_refused_by_recover(runtime: GraphRuntime, store: Checkpointer, another: Any) -> None:
    """R6.40, R4.19: and the thread is left as it was."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    claim = await store.claim("t", "test", 30)
    at = (await store.head("t")).checkpoint_id
    assert at is not None
    bad = PendingWrite(at, "1.1", "worker", b'{"updates":[{"key":"gone","value":1}],"routes":[]}')
    await store.commit("t", Commit(token=claim.token, writes=(bad,), release=True))
    with pytest.raises(RestoreRejected, match="gone"):
        await another().recover("t", made.graph)
    assert (await store.head("t")).claim is None

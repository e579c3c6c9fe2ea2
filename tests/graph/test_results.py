"""What a node returned, checked as soon as it is there (R3.3, R3.6, R1.24)."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import InvalidRoute, NodeFailed, StateUpdateFailed, ToolFailed, UndeclaredWrite
from llm4s_notebook.graph import Block, Command, CompiledGraph, Execution, Fail, GraphBuilder, GraphRuntime, StateKey, Suspend

from .graphs import LOG, drive, nothing, output

N = StateKey.replace("n", int, initial=0)


def with_bad_sibling(bad: Any, *, writes: Any = ()) -> CompiledGraph[None, list[str]]:
    """start -> good, bad; good logs."""
    builder = GraphBuilder("g", version="1")

    @builder.node("good", writes=LOG)
    async def good() -> Command:
        return Command().update(LOG, "good")

    bad_node = builder.node("bad", writes=writes)(bad)
    start = builder.node("start")(nothing)
    builder.edge(start, good)
    builder.edge(start, bad_node)
    return builder.compile(start, output=lambda state: state[LOG])


async def test_an_undeclared_write_fails_the_superstep_as_a_whole(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SUP-08, R3.3, R3.5."""

    async def bad() -> Command:
        return Command().update(N, 1)

    graph = with_bad_sibling(bad)
    with pytest.raises(UndeclaredWrite) as caught:
        await runtime.run("t", graph, None)
    assert (caught.value.node_id, caught.value.task_id, caught.value.key) == ("bad", "1.1", "n")
    latest = await store.latest("t")
    assert latest is not None
    assert graph.restore(latest.checkpoint).state[LOG] == []
    assert [write.task_id for write in latest.writes] == ["1.0"]


async def test_the_write_set_is_checked_before_routes_and_an_unequal_key_is_undeclared() -> None:
    """R3.3, D1."""
    other = GraphBuilder("other", version="1").node("foreign")(nothing)
    for key in (StateKey.replace("n", str, initial=""), StateKey.replace("m", str, initial="")):

        async def bad(key: StateKey[str, str]) -> Command:
            return Command().goto(other).update(key, "x")

        graph = with_bad_sibling(functools.partial(bad, key=key), writes=N)
        with pytest.raises(UndeclaredWrite) as caught:
            await drive(graph, graph.start(None))
        assert caught.value.key == key.id


async def test_removing_an_undeclared_key_is_an_undeclared_write_too() -> None:
    """R3.3: every operation, not only updates; also in a suspension and in a block."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask, writes=N)(nothing)
    remove = Command().remove(N)
    results = {"command": remove, "suspend": Suspend("?", ask, remove), "block": Block(ValueError(), remove)}

    @builder.node("start")
    async def start(which: str) -> Any:
        return results[which]

    graph = builder.compile(start, output=lambda _: None)
    for which in results:
        with pytest.raises(UndeclaredWrite) as caught:
            await graph.step(graph.start(which))
        assert (caught.value.node_id, caught.value.task_id, caught.value.key) == ("start", "0.0", "n")


async def test_a_result_that_fails_its_check_is_not_recorded_and_its_task_runs_again(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.21: a bad write, then a bad route, then a good result; its sibling runs once."""
    other = GraphBuilder("other", version="1").node("foreign")(nothing)
    returned = [Command().update(N, 1), Command().goto(other), Command()]
    ran: list[str] = []

    async def bad() -> Command:
        ran.append("bad")
        return returned.pop(0)

    async def good() -> Command:
        ran.append("good")
        return Command().update(LOG, "good")

    builder = GraphBuilder("g", version="1")
    start = builder.node("start")(nothing)
    builder.edge(start, builder.node("good", writes=LOG)(good))
    builder.edge(start, builder.node("bad")(bad))
    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(UndeclaredWrite):
        await runtime.run("t", graph, None)
    for _ in range(2):
        latest = await store.latest("t")
        assert latest is not None
        assert [write.task_id for write in latest.writes] == ["1.0"]
        if len(returned) == 2:
            with pytest.raises(InvalidRoute):
                await (await runtime.recover("t", graph))
    assert output(await (await runtime.recover("t", graph))) == ["good"]
    assert sorted(ran) == ["bad", "bad", "bad", "good"]


async def test_routes_to_another_graph_are_refused(runtime: GraphRuntime, store: Checkpointer) -> None:
    """SUP-11, R3.3: a foreign node, a foreign join, a foreign fan-out target."""
    other = GraphBuilder("other", version="1")
    foreign = other.node("foreign")(nothing)
    foreign_join = other.dynamic_join("foreign-join", foreign)
    builder = GraphBuilder("g", version="1")
    done = builder.node("done")(nothing)
    join = builder.dynamic_join("own-join", done)

    @builder.node("start")
    async def start(which: int) -> Command:
        return [
            Command().goto(foreign),
            Command().fan_out(foreign_join, done, [None]),
            Command().fan_out(join, foreign, [None]),
            Command().fan_out(join, done, [None]).fan_out(join, done, []),
        ][which]

    graph = builder.compile(start, output=lambda _: None)
    for which, named in enumerate(["foreign", "foreign-join", "foreign", "own-join"]):
        with pytest.raises(InvalidRoute, match=f"'{named}'") as caught:
            await graph.step(graph.start(which))
        assert (caught.value.node_id, caught.value.task_id) == ("start", "0.0")
        with pytest.raises(InvalidRoute, match=f"'{named}'"):
            await runtime.run(f"t{which}", graph, which)
        head = await store.head(f"t{which}")
        assert (head.status, head.write_count) == ("Running", 0)


async def test_going_to_a_node_that_takes_a_payload_is_refused() -> None:
    """R1.22."""
    builder = GraphBuilder("g", version="1")

    @builder.node("takes")
    async def takes(n: int) -> None: ...

    @builder.node("start")
    async def start() -> Command:
        return Command().goto(takes)

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(InvalidRoute, match="takes a payload"):
        await graph.step(graph.start(None))


async def test_fail_is_the_same_as_raising() -> None:
    """R3.6."""
    error = KeyError("x")

    async def fails() -> Fail:
        return Fail(error)

    async def raises() -> None:
        raise error

    for bad in (fails, raises):
        graph = with_bad_sibling(bad)
        with pytest.raises(NodeFailed) as caught:
            await drive(graph, graph.start(None))
        assert (caught.value.node_id, caught.value.task_id, caught.value.cause) == ("bad", "1.1", error)
        assert caught.value.__cause__ is error


async def test_a_node_failure_of_the_nodes_own_making_reaches_the_caller_as_it_is() -> None:
    """R3.6: a layer above names its failures itself; the place is filled in."""
    error = ToolFailed(tool="t", call_id="c", cause=ValueError("x"))

    async def bad() -> None:
        raise error

    graph = with_bad_sibling(bad)
    with pytest.raises(ToolFailed) as caught:
        await drive(graph, graph.start(None))
    assert caught.value is error
    assert (error.node_id, error.task_id) == ("bad", "1.1")


@pytest.mark.parametrize("returned", [1, "text", {"a": 1}, Execution, Command])
async def test_anything_else_than_a_node_result_fails_the_task(returned: object) -> None:
    """R1.24."""

    async def bad() -> object:
        return returned

    graph = with_bad_sibling(bad)
    with pytest.raises(NodeFailed, match="a node returns Command"):
        await drive(graph, graph.start(None))


async def test_an_update_with_routes_is_refused_where_only_updates_make_sense() -> None:
    """api.md: Suspend, Block."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)
    builder.implement(ask)(nothing)

    @builder.node("start")
    async def start() -> Suspend[str, str]:
        return Suspend("?", ask, Command().goto(start))

    graph = builder.compile(start, output=lambda _: None)
    with pytest.raises(NodeFailed, match="carries routes"):
        await graph.step(graph.start(None))


@pytest.mark.parametrize("error", [StopIteration("x"), SystemExit(3), KeyboardInterrupt()])
async def test_what_must_not_cross_into_a_loop_is_an_ordinary_failure(runtime: GraphRuntime, error: BaseException) -> None:
    """R3.6: a plain function's StopIteration or sys.exit fails its task only."""

    def bad() -> None:
        raise error

    with pytest.raises(NodeFailed):
        await runtime.run("t", with_bad_sibling(bad), None)


async def test_a_rejected_reduce_keeps_the_task_results_and_fails_again(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R3.21, R1.19: sticky, since the recorded write is replayed."""
    ran: list[str] = []

    def reduce(now: int, by: int) -> int:
        raise ValueError("rejected")

    total = StateKey("total", int, int, initial=0, reduce=reduce)

    async def bad() -> Command:
        ran.append("bad")
        return Command().update(total, 1)

    graph = with_bad_sibling(bad, writes=total)
    for call in (lambda: runtime.start("t", graph, None), lambda: runtime.recover("t", graph)):
        with pytest.raises(StateUpdateFailed) as caught:
            await (await call())
        assert caught.value.key == "total"
        latest = await store.latest("t")
        assert latest is not None
        assert sorted(write.task_id for write in latest.writes) == ["1.0", "1.1"]
        assert graph.restore(latest.checkpoint).state[LOG] == []
    assert ran == ["bad"]

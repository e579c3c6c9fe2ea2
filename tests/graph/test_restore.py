"""Snapshots, restore checks, schema versions, stored formats (RST, FMT, R6.39, R6.40, D14)."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, Commit, PendingWrite
from llm4s_notebook.errors import DecodeError, NodeFailed, RestoreRejected, UnsupportedCheckpointFormat
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Execution,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)
from llm4s_notebook.graph._codec import Codec
from llm4s_notebook.graph._reuse import reused_results, upgraded_update

from .graphs import LOG, chain, drive, fan, output


async def _nothing() -> None: ...


def mixed() -> CompiledGraph[None, list[str]]:
    """An open dynamic and a partial static join at most boundaries, with a custom list key and a question in between."""
    tags: StateKey[list[str], str] = StateKey("tags", list[str], str, initial=[], reduce=lambda now, tag: sorted({*now, tag}))
    builder = GraphBuilder("mixed", version="1")
    ask = builder.declare_resume("ask", question=int, answer=str)
    end = builder.declare("end")
    slow, slower = builder.declare("slow"), builder.declare("slower")
    join = builder.dynamic_join("fan", slow)

    @builder.node("child", writes=[LOG, tags])
    async def child(n: int) -> Command | Suspend[int, str]:
        return Suspend(n, ask) if n == 2 else Command().update(LOG, f"child {n}").update(tags, f"t{n}")

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[int, str]) -> Command:
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("left", writes=LOG)
    async def left() -> Command:
        return Command().update(LOG, "left")

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, child, [1, 2, 3]).goto(left)

    @builder.implement(slow, writes=LOG)
    async def slow_node() -> Command:
        return Command().update(LOG, "slow").goto(slower)

    @builder.implement(slower, writes=LOG)
    async def slower_node() -> Command:
        return Command().update(LOG, "slower")

    @builder.implement(end, writes=LOG)
    async def end_node() -> Command:
        return Command().update(LOG, "end")

    builder.static_join("both", [left, slower], end)
    return builder.compile(start, output=lambda state: [*state[LOG], *state[tags]])


WHOLE = ["child 1", "child 3", "left", "2 yes", "slow", "slower", "end", "t1", "t3"]


async def test_an_execution_restored_at_every_boundary_in_a_new_instance_ends_the_same() -> None:
    """RST-01, R1.35: through JSON text each time."""
    graph = mixed()
    at: Any = graph.start(None)
    boundaries = 0
    while True:
        if isinstance(at, Execution):
            text = json.dumps(graph.snapshot(at))
            graph = mixed()
            at = graph.restore(json.loads(text))
            assert json.loads(text) == graph.snapshot(at)
            boundaries += 1
            at = await graph.step(at)
        elif isinstance(at, Suspended):
            at = graph.resume(at.execution, {at.interrupts[0].id: "yes"})
        else:
            break
    assert output(at) == WHOLE
    assert boundaries == 6


async def test_a_thread_taken_up_at_every_checkpoint_ends_the_same(runtime: GraphRuntime, store: Checkpointer) -> None:
    """RST-01, R6.31, R6.32: every checkpoint of the history is a whole execution; a fork of each goes the same way."""
    await runtime.run("t", mixed(), None)
    await (await runtime.resume("t", mixed(), {"1.1": "yes"}))
    for index, checkpoint in enumerate(reversed(await runtime.history("t"))):
        await runtime.fork("t", checkpoint.id, f"f{index}")
        thread, graph = f"f{index}", mixed()
        result: Any = None
        if checkpoint.status.value == "Running":
            result = await (await runtime.recover(thread, graph))
        elif checkpoint.status.value == "Suspended":
            result = await runtime.pending(thread, graph)
        if isinstance(result, Suspended):
            result = await (await runtime.resume(thread, graph, {"1.1": "yes"}))
        latest = await store.latest(thread)
        assert latest is not None
        assert [*graph.restore(latest.checkpoint).state[LOG]] == WHOLE[:7]


async def test_what_the_store_holds_equals_the_execution_that_was_handed_back(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D17: patches bring the store to the very same execution, at a suspension and at the end."""
    graph = mixed()
    for call in (runtime.start("t", graph, None), runtime.resume("t", graph, {"1.1": "yes"})):
        result: Any = await (await call)
        latest = await store.latest("t")
        assert latest is not None
        restored = graph.restore(latest.checkpoint)
        if isinstance(result, Suspended):
            assert graph.snapshot(restored) == graph.snapshot(result.execution)
        else:
            assert dict(restored.state.items()) == dict(result.state.items())
            assert not restored.frontier
            assert not restored.activations


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


async def test_a_refused_restore_leaves_the_thread_alone(runtime: GraphRuntime, store: Checkpointer, another: Any) -> None:
    """R4.19, R4.20: by start, resume and recover."""
    await runtime.run("t", fan().graph, ["ask a"])
    other = chain().graph
    second = another()
    with pytest.raises(RestoreRejected):
        await second.resume("t", other, {"1.0": True})
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("u", made.graph, ["a", "b"])
    with pytest.raises(RestoreRejected):
        await second.recover("u", other)
    await runtime.run("v", fan().graph, ["a"])
    with pytest.raises(RestoreRejected):
        await second.start("v", other, 1)
    for thread in "tuv":
        assert (await store.head(thread)).claim is None
    assert output(await (await runtime.resume("t", fan().graph, {"1.0": True})))


# -- D14: which part changed ---------------------------------------------------------------------------------------------


def parted(version: str, parts: dict[str, str]) -> CompiledGraph[None, list[str]]:
    builder = GraphBuilder("g", version=version, parts=parts)

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        return Command().update(LOG, version)

    return builder.compile(start, output=lambda state: state[LOG])


async def test_a_refusal_says_which_part_of_the_version_changed(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D14: stored once per thread; with a fixed version the same change is no problem, and the new parts are stored."""
    await runtime.run("t", parted("1", {"prompt": "a", "tool deploy": "b", "tool old": "c"}), None)
    with pytest.raises(RestoreRejected) as caught:
        await runtime.run("t", parted("2", {"prompt": "a", "tool deploy": "x", "tool new": "d"}), None)
    assert caught.value.problems == (
        "it was stored by graph version '1', this graph has '2'",
        "changed: tool deploy",
        "added: tool new",
        "removed: tool old",
    )
    assert "version" in caught.value.next_step
    assert output(await runtime.run("t", parted("1", {"prompt": "z"}), None)) == ["1", "1"]
    with pytest.raises(RestoreRejected) as caught:
        await runtime.run("t", parted("3", {"prompt": "y"}), None)
    assert "changed: prompt" in caught.value.problems
    assert len(caught.value.problems) == 2


# -- schema versions -----------------------------------------------------------------------------------------------------


def test_a_value_is_upgraded_step_by_step() -> None:
    """FMT-01, R1.38."""
    codec: Codec[dict[str, int]] = Codec(
        dict[str, int], version=3, migrations={1: lambda old: {"n": old}, 2: lambda old: {**old, "m": old["n"] * 2}}
    )
    assert codec.upgrade(b"5", 1) == b'{"n":5,"m":10}'
    assert codec.upgrade(b'{"n":5}', 2) == b'{"n":5,"m":10}'
    assert codec.upgrade(b'{"n":5,"m":1}', 3) == b'{"n":5,"m":1}'


@pytest.mark.parametrize("version", [4, 0, -1, True, "1", None, 1])
def test_what_cannot_be_upgraded_names_the_versions(version: Any) -> None:
    """FMT-02: newer, zero, no number, a missing step, a step that raises."""
    codec: Codec[int] = Codec(int, version=3, migrations={2: lambda old: old / 0})
    with pytest.raises(DecodeError):
        codec.upgrade(b"5", version)
    with pytest.raises(DecodeError, match="from schema version 2 raised ZeroDivisionError"):
        codec.upgrade(b"5", 2)


def versioned(version: int) -> tuple[CompiledGraph[Any, Any], StateKey[Any, Any]]:
    """Version 1: words as text; version 2: words as objects. An input and a question change the same way."""
    declared: Any = str if version == 1 else dict[str, str]
    steps = {1: lambda old: [{"w": one} for one in old]}
    words: StateKey[Any, Any] = StateKey.appending("words", declared, version=version, migrations=steps if version > 1 else {})
    wrap = {1: lambda old: {"w": old}} if version > 1 else {}

    def make(text: str) -> Any:
        return text if version == 1 else {"w": text}

    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=declared, answer=bool, version=version, migrations=wrap)

    @builder.implement(ask, writes=words)
    async def answered(given: Resumed[Any, bool]) -> Command:
        return Command().update(words, given.question)

    @builder.node("worker", writes=words, input=declared, version=version, migrations=wrap)
    async def worker(given: Any) -> Command | Suspend[Any, bool]:
        if given == make("ask"):
            return Suspend(given, ask)
        if given == "fails":
            raise ValueError
        return Command().update(words, given)

    @builder.node("start", writes=words)
    async def start(items: list[str]) -> Command:
        command = Command().update(words, make("start"))
        for item in items:
            command = command.send(worker, make(item))
        return command

    return builder.compile(start, output=lambda state: state[words]), words


async def test_a_thread_is_taken_up_under_newer_schemas(runtime: GraphRuntime, another: Any, store: Checkpointer) -> None:
    """R1.38, R1.35: state, pending inputs, recorded writes and parked questions written under version 1; and read again after that."""
    old, _ = versioned(1)
    with pytest.raises(NodeFailed):
        await runtime.run("t", old, ["a", "ask", "fails"])
    new, words = versioned(2)
    held = await (await another().recover("t", new))
    assert isinstance(held, Suspended)
    assert held.state[words] == [{"w": "start"}, {"w": "a"}, {"w": "fails"}]
    assert held.interrupts[0].question == {"w": "ask"}
    third, words = versioned(2)
    done = await (await another().resume("t", third, {"1.1": True}))
    assert output(done) == [{"w": "start"}, {"w": "a"}, {"w": "fails"}, {"w": "ask"}]
    latest = await store.latest("t")
    assert latest is not None
    assert third.restore(latest.checkpoint).state[words] == output(done)
    with pytest.raises(RestoreRejected, match="schema version 2"):
        await another().run("t", versioned(1)[0], [])


async def test_parked_questions_are_upgraded_when_they_are_shown(runtime: GraphRuntime, another: Any) -> None:
    """R1.38."""
    await runtime.run("t", versioned(1)[0], ["ask"])
    new, _ = versioned(2)
    pending = await another().pending("t", new)
    assert pending is not None
    assert pending.interrupts[0].question == {"w": "ask"}
    assert output(await (await another().resume("t", new, {"1.0": False}))) == [{"w": "start"}, {"w": "ask"}]


def test_a_recorded_update_is_upgraded_as_its_key_says() -> None:
    """R1.38: of an appending key as a list of one, of a replaced one as its value; of a custom update not at all."""
    steps = {1: lambda old: [one.upper() for one in old]}
    appending = StateKey.appending("a", str, version=2, migrations=steps)
    assert upgraded_update(appending, b'"x"', 1) == b'"X"'
    replaced = StateKey.replace("r", str, initial="", version=2, migrations={1: lambda old: old + "!"})
    assert upgraded_update(replaced, b'"x"', 1) == b'"x!"'
    custom: StateKey[list[str], int] = StateKey("c", list[str], int, initial=[], reduce=lambda now, n: now, version=2, migrations=steps)
    with pytest.raises(DecodeError):
        upgraded_update(custom, b"1", 1)
    doubling = StateKey.appending("d", str, version=2, migrations={1: lambda old: old * 2})
    with pytest.raises(DecodeError):
        upgraded_update(doubling, b'"x"', 1)


# -- pending writes ------------------------------------------------------------------------------------------------------


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
    graph = builder.compile(builder.node("start")(_nothing), output=lambda _: None)
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

    builder.implement(done)(_nothing)
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


async def test_state_of_every_type_survives_the_store(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D7, R6.2: what a node reads after a restart equals what was written."""
    from datetime import UTC, datetime
    from decimal import Decimal
    from enum import Enum
    from uuid import UUID

    class Colour(Enum):
        RED = "red"

    values: dict[str, tuple[Any, Any]] = {
        "int": (int, 2**70),
        "float": (float, 0.1),
        "text": (str, 'é😀 "quoted" \\ \u2028'),
        "bytes": (bytes, b"abc"),
        "when": (datetime, datetime(2030, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)),
        "decimal": (Decimal, Decimal("1.10")),
        "uuid": (UUID, UUID(int=5)),
        "enum": (Colour, Colour.RED),
        "tuple": (tuple[int, str], (1, "a")),
        "set": (frozenset[int], frozenset({1, 2})),
        "none": (int | None, None),
        "nested": (dict[str, list[dict[str, int]]], {"a": [{"b": 1}, {}]}),
        "any": (Any, [1, "a", None, {"b": [True]}]),
    }
    keys = {name: StateKey.replace(name, declared | None if name != "any" else Any, initial=None) for name, (declared, _) in values.items()}
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=keys.values())
    async def start(state: ThreadState) -> Command:
        command = Command()
        for name, (_, value) in values.items():
            command = command.update(keys[name], value)
        return command

    graph = builder.compile(start, output=lambda state: {name: state[key] for name, key in keys.items()})
    wanted = {name: value for name, (_, value) in values.items()}
    assert output(await runtime.run("t", graph, None)) == wanted
    latest = await store.latest("t")
    assert latest is not None
    assert {name: graph.restore(latest.checkpoint).state[key] for name, key in keys.items()} == wanted


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


@pytest.mark.parametrize("at", [("meta", "birth"), ("task", "1.0"), ("parked", "1.1"), ("activation", "0.0:join"), "body"])
async def test_a_damaged_row_is_named_as_damage_and_not_as_a_crash(at: Any) -> None:
    """R6.39: a stored record that is no JSON any more; the thread's other checkpoints are not to blame."""
    made = fan()
    runtime = GraphRuntime.in_memory()
    config = RunConfig(interrupt_before=frozenset({"worker"}))
    assert isinstance(await runtime.run("t", made.graph, ["a", "b"], config), Suspended)
    (checkpoint, *_) = await runtime.history("t", limit=1)
    if at == "body":
        damaged = replace(checkpoint, header=checkpoint.header._replace(body=b"{{"))
    else:
        section = (
            next(known for known in checkpoint.entries if known[0] == at[0]) if at[0] in {one for one, _ in checkpoint.entries} else at
        )
        damaged = replace(checkpoint, entries={**checkpoint.entries, section: b"{{"})
    with pytest.raises(RestoreRejected, match=f"checkpoint '{checkpoint.id}' is damaged") as refused:
        made.graph.restore(damaged)
    assert "copy" in refused.value.next_step

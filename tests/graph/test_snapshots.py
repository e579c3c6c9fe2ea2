"""An execution as data, taken up again where it stood (1.5, RST-01)."""

from __future__ import annotations

import json
from typing import Any

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import (
    Breakpoint,
    BreakpointPhase,
    Command,
    Execution,
    GraphBuilder,
    GraphRuntime,
    RunConfig,
    StateKey,
    Suspended,
    ThreadState,
)

from .graphs import LOG, WHOLE, fan, ids, mixed, output


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


async def stored(store: Checkpointer, section: str) -> dict[str, Any]:
    latest = await store.latest("t")
    assert latest is not None
    return {name: json.loads(entry) for (place, name), entry in latest.checkpoint.entries.items() if place == section}  # type: ignore[arg-type]  # these sections hold values


async def test_the_records_of_tasks_and_of_what_is_parked(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R1.33, R1.34, R4.7, R4.12, R5.7, R5.13: id, node, input or question, join slot, origin, and the routes withheld after a node; no
    code."""
    made = fan()
    held = await runtime.run("t", made.graph, ["ask a"])
    assert await stored(store, "parked") == {
        "1.0": {
            "node": "approve",
            "question": "ask a",
            "slot_join": "work",
            "slot_task": "0.0",
            "origin_task": "1.0",
            "origin_node": "worker",
        }
    }
    held = await (await runtime.resume("t", made.graph, {ids(held)[0]: True}, RunConfig(interrupt_after="approve")))
    (stop,) = held.interrupts if isinstance(held, Suspended) else ()
    assert (stop.resume_node, stop.question, stop.breakpoint) == ("approve", None, BreakpointPhase.AFTER)
    (record,) = (await stored(store, "parked")).values()
    assert record == {
        "node": "approve",
        "question": None,
        "slot_join": "work",
        "slot_task": "0.0",
        "origin_task": "1.0",  # the continuation stands for the task that asked
        "origin_node": "worker",
        "phase": "After",
        "routes": [],
    }
    assert output(await (await runtime.resume("t", made.graph, {stop.id: Breakpoint.proceed}))) == ["planned", "ask a:True", "summ"]
    assert made.ran["ask a"] == made.ran["approve ask a"] == 1


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

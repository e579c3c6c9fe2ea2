"""What may be done to a thread while a run of it is live, here and from outside, and what becomes of the run (4.4, R6.31-R6.37)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer, RetentionPolicy
from llm4s_notebook.errors import ReplayUnavailable, ThreadBusy, ThreadExists
from llm4s_notebook.graph import Command, Durability, GraphRuntime, RunConfig, Suspended

from .graphs import ITEMS, Another, Fan, fan, ids, output, trace, until

Call = Callable[[GraphRuntime, Fan, str], Awaitable[Any]]
EDIT = Command().update(ITEMS, "edited")
REFUSED: dict[str, Call] = {
    "start": lambda runtime, made, at: runtime.start("t", made.graph, ["z"]),
    "resume": lambda runtime, made, at: runtime.resume("t", made.graph, {"1.0": True}),
    "recover": lambda runtime, made, at: runtime.recover("t", made.graph),
    "update_state": lambda runtime, made, at: runtime.update_state("t", made.graph, at, EDIT),
    "update_state of another checkpoint": lambda runtime, made, at: runtime.update_state("t", made.graph, "nowhere/1", EDIT),
    "abandon": lambda runtime, made, at: runtime.abandon("t", made.graph),
    "delete_thread": lambda runtime, made, at: runtime.delete_thread("t"),
    "seed": lambda runtime, made, at: runtime.seed("t", made.graph, EDIT),
    "fork": lambda runtime, made, at: runtime.fork("other", at, "t"),
}


@pytest.mark.parametrize("durability", list(Durability))
@pytest.mark.parametrize("before", [False, True])
async def test_a_live_thread_is_read_and_pruned_and_not_changed(
    runtime: GraphRuntime, another: Another, store: Checkpointer, durability: Durability, before: bool
) -> None:
    """4.4, R6.32-R6.35: every change is refused by the runtime that runs it and by others, and leaves no trace; a fork only reads it;
    pruning (R6.37) takes nothing the run goes back to. The run, and the answer after it, end as if nothing had been."""
    made = fan(delays=["slow"])
    if before:
        await runtime.run("t", made.graph, ["x"])
    await runtime.run("other", made.graph, ["y"])
    other = (await store.head("other")).checkpoint_id or ""
    handle = await runtime.start("t", made.graph, ["a", "slow", "ask"], RunConfig(durability=durability))
    await until(lambda: made.ran["slow"] and made.ran["ask"])
    outside = another()
    if durability is not Durability.ON_EXIT:
        await until_stored(store)
    for one in (runtime, outside):
        was = await trace(store)
        at = (await store.head("t")).checkpoint_id or ""
        for name, call in REFUSED.items():
            with pytest.raises(ThreadExists if name in ("seed", "fork") and one is outside else ThreadBusy):
                await call(one, made, other if name == "fork" else at)
            assert await trace(store) == was, name
        for number, checkpoint in enumerate(await one.history("t")):
            await one.fork("t", checkpoint.id, f"{number} of {id(one)}")
        assert await one.pending("t", made.graph) is None
        assert await trace(store) == was
    for _ in range(2):
        await store.prune("t", RetentionPolicy(max_checkpoints=0, max_events=0, max_age=0))
    made.delays["slow"].set()
    held = await handle
    assert isinstance(held, Suspended)
    assert (await store.head("t")).claim is None
    await store.prune("t", RetentionPolicy(max_checkpoints=0, max_events=0))
    assert ids(await outside.pending("t", made.graph)) == ids(held)
    done = await (await outside.resume("t", made.graph, {ids(held)[0]: True}, RunConfig(durability=durability)))
    assert output(done) == [*(["planned", "X", "summ"] if before else []), "planned", "A", "SLOW", "ask:True", "summ"]
    assert (made.ran["a"], made.ran["slow"], made.ran["ask"]) == (1, 1, 1)
    with pytest.raises(ReplayUnavailable) as gone:
        await store.events_after("t", 0)
    left = await store.events_after("t", gone.value.earliest - 1)
    assert [one.sequence for one in left] == list(range(gone.value.earliest, gone.value.earliest + len(left)))


async def until_stored(store: Checkpointer) -> None:
    """The results of the two tasks that ended are pending writes."""
    async with asyncio.timeout(20):
        while (await store.head("t")).write_count < 2:  # noqa: ASYNC110 - a store is asked, it tells nobody
            await asyncio.sleep(0.001)

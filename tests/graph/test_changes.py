"""Changes of a thread outside runs, interrupted or asked for with what cannot be meant (R6.31-R6.36, D2, D23)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Claim
from llm4s_notebook.errors import CheckpointNotFound, CheckpointWriteFailed, ConfigError, NodeFailed, StoreUnavailable
from llm4s_notebook.graph import ClaimPolicy, Command, GraphRuntime

from .graphs import ITEMS, Another, Fan, fan, ids, output
from .stores import FailingFile, FailingStore

Change = Callable[[GraphRuntime, Fan, str], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "update_state": lambda runtime, made, at: runtime.update_state("t", made.graph, at, Command().update(ITEMS, "edited")),
    "abandon": lambda runtime, made, at: runtime.abandon("t", made.graph),
    "delete_thread": lambda runtime, made, at: runtime.delete_thread("t"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_whose_caller_is_cancelled_leaves_no_claim(
    failing: FailingStore | FailingFile, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """R6.33, R6.35, R6.36, R4.19: an interrupted cell waits for the change it began, and the thread is free afterwards."""
    runtime, made = GraphRuntime(failing), fan()
    await runtime.run("t", made.graph, ["ask"])
    at = (await failing.head("t")).checkpoint_id or ""
    claimed, go = asyncio.Event(), asyncio.Event()
    claim = failing.claim

    async def slow(thread_id: str, holder: str, ttl: float) -> Claim:
        granted = await claim(thread_id, holder, ttl)
        claimed.set()
        await go.wait()
        return granted

    monkeypatch.setattr(failing, "claim", slow)
    changing = asyncio.ensure_future(CHANGES[change](runtime, made, at))
    await claimed.wait()
    for _ in range(3):
        changing.cancel()
        await asyncio.sleep(0)
    assert not changing.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await changing
    head = await failing.head("t")
    assert head.claim is None
    assert head.checkpoint_id != at  # what was begun was done
    if change == "update_state":
        done = await (await runtime.resume("t", made.graph, {"1.0": True}))
        assert output(done) == ["planned", "edited", "ask:True", "summ"]
    else:
        assert output(await runtime.run("t", made.graph, ["a"]))[-2:] == ["A", "summ"]


async def test_a_change_that_fails_after_its_caller_was_cancelled_is_nobodys(
    failing: FailingStore | FailingFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R6.33, R4.19: the caller hears of its cancellation, the thread is as it was and free."""
    runtime, made = GraphRuntime(failing), fan()
    await runtime.run("t", made.graph, ["ask"])
    before = await failing.latest("t")
    at = before.checkpoint.id if before else ""
    reached, go = asyncio.Event(), asyncio.Event()
    latest = failing.latest

    async def slow(thread_id: str) -> Any:
        reached.set()
        await go.wait()
        failing.dead = True
        return await latest(thread_id)

    monkeypatch.setattr(failing, "latest", slow)
    changing = asyncio.ensure_future(CHANGES["update_state"](runtime, made, at))
    await reached.wait()
    changing.cancel()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await changing
    monkeypatch.undo()
    failing.dead = False
    assert await failing.latest("t") == before
    assert (await failing.head("t")).claim is None
    assert ids(await runtime.pending("t", made.graph)) == ["1.0"]


RECOVERS = "recover"


@pytest.mark.parametrize("change", [*CHANGES, RECOVERS])
async def test_a_store_that_fails_behind_the_claim_does_not_keep_the_thread_busy(
    failing: FailingStore | FailingFile, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """R4.19, R4.22, R6.33, R6.35: what was refused is done when it is asked again of the mended store, not when a lease has run out."""
    failing.keeps_claims = True
    runtime, made = GraphRuntime(failing), fan()
    if change == RECOVERS:
        made.failing.add("b")
        with pytest.raises(NodeFailed):
            await runtime.run("t", made.graph, ["a", "b"])
    else:
        await runtime.run("t", made.graph, ["ask"])
    before = await failing.latest("t")
    at = before.checkpoint.id if before else ""
    claim, delete = failing.claim, failing.delete_thread

    async def last(thread_id: str, holder: str, ttl: float) -> Claim:
        granted = await claim(thread_id, holder, ttl)
        failing.dead = True
        return granted

    async def refused(thread_id: str) -> None:
        failing._check()
        await delete(thread_id)

    monkeypatch.setattr(failing, "claim", last)
    monkeypatch.setattr(failing, "delete_thread", refused)

    async def ask() -> object:
        if change == RECOVERS:
            return output(await (await runtime.recover("t", made.graph)))
        return await CHANGES[change](runtime, made, at)

    with pytest.raises(CheckpointWriteFailed if change == RECOVERS else StoreUnavailable, match="the disk is gone"):
        await ask()
    assert await failing.latest("t") == before
    monkeypatch.undo()
    failing.dead = False
    assert await ask() == (["planned", "A", "B", "summ"] if change == RECOVERS else (await failing.head("t")).checkpoint_id)
    assert (await failing.head("t")).claim is None


async def test_changes_of_what_is_no_checkpoint_are_refused(runtime: GraphRuntime, another: Another) -> None:
    """R6.31, R6.32: an id that is no text, or none that can be stored, is not found; a page or a place that is no number is ConfigError."""
    made = fan()
    await runtime.run("t", made.graph, ["a"])
    for bad in (None, 5, b"x", "\ud800/1"):
        given: Any = bad
        with pytest.raises(CheckpointNotFound):
            await runtime.fork("t", given, "u")
        assert await another().pending("u", made.graph) is None
    for bad in (None, "1", 1.5, True, 0):
        given = bad
        with pytest.raises(ConfigError):
            await runtime.history("t", limit=given)
        with pytest.raises(ConfigError):
            runtime.subscribe("t", capacity=given)
        if bad != 0:
            with pytest.raises(ConfigError):
                runtime.subscribe("t", after=given)
    for ttl in (1e12, float("inf"), float("nan")):
        with pytest.raises(ConfigError):
            ClaimPolicy(ttl=ttl)

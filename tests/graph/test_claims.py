"""Claims, renewal and fencing, seen from a run (6.4, CLM)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Commit, InMemoryCheckpointer
from llm4s_notebook.errors import CheckpointWriteFailed, StaleClaim, StoreUnavailable, ThreadBusy
from llm4s_notebook.graph import ClaimPolicy, Command, GraphBuilder, GraphRuntime
from llm4s_notebook.testing import ManualClock

from .graphs import LOG, chain, fan, output, trace, until
from .stores import FailingStore, broken


async def test_a_store_that_fails_at_the_claim_leaves_the_thread_new() -> None:
    """CLM-03, R4.20, R4.22."""
    for error in (broken(), ValueError("odd")):
        store = FailingStore()
        store.error = error
        store.dead = True
        runtime = GraphRuntime(store)
        made = chain()
        with pytest.raises(CheckpointWriteFailed) as caught:
            await runtime.start("t", made.graph, 1)
        assert caught.value.cause is error
        store.dead = False
        assert (await store.head("t")).checkpoint_id is None
        assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


async def test_a_run_that_lost_its_claim_writes_nothing_more(clock: ManualClock) -> None:
    """CLM-02, R6.25: the second recovers and completes; the first fails and the log is unchanged."""
    store = InMemoryCheckpointer(clock=clock)
    first, second = GraphRuntime(store, clock=clock), GraphRuntime(store, clock=clock)
    made = fan(delays=["a"])
    handle = await first.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    with pytest.raises(ThreadBusy):
        await second.recover("t", made.graph)
    clock.advance(31)
    again = fan()
    assert output(await (await second.recover("t", again.graph))) == ["planned", "A", "summ"]
    before = await trace(store)
    made.delays["a"].set()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await handle
    assert isinstance(caught.value.cause, StaleClaim)
    assert await trace(store) == before


async def test_a_live_claim_is_renewed_while_the_loop_is_blocked() -> None:
    """D8, R6.24: from a thread of its own."""
    import time

    store = InMemoryCheckpointer()
    runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=0.8, renew_every=0.05))
    builder = GraphBuilder("g", version="1")
    claims: list[Any] = []

    @builder.node("blocks")
    async def blocks() -> None:
        time.sleep(1.2)  # noqa: ASYNC251 - a node that blocks its loop is the case
        claims.append((await store.head("t")).claim)

    graph = builder.compile(blocks, output=lambda _: "done")
    assert output(await runtime.run("t", graph, None)) == "done"
    assert claims[0] is not None
    await runtime.aclose()


async def test_a_renewal_that_finds_the_claim_lost_stops_the_run_at_its_next_superstep() -> None:
    """R6.25, CLM-05: a renewal that merely fails is retried."""

    class Losing(InMemoryCheckpointer):
        calls = 0

        def renew_now(self, thread_id: str, token: int, ttl: float) -> Any:
            self.calls += 1
            if self.calls == 1:
                raise broken()
            if self.calls == 2:
                return super().renew_now(thread_id, token, ttl)
            raise StaleClaim(token=token, current=None)

    store = Losing()
    runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=5, renew_every=0.01))
    made = chain(before_middle=lambda: until(lambda: store.calls >= 3))
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1)
    assert isinstance(caught.value.cause, StaleClaim)
    assert made.ran["end"] == 0
    await runtime.aclose()


async def test_recover_reads_the_writes_again_under_its_claim() -> None:
    """R6.26: a write the last holder made in between is reused."""
    made = fan(delays=["b"])
    store = InMemoryCheckpointer()
    first = GraphRuntime(store)
    handle = await first.start("t", made.graph, ["a", "b"])
    await until(lambda: made.ran["b"])
    handle.cancel()

    class Late(InMemoryCheckpointer):
        async def latest(self, thread_id: str) -> Any:
            return await store.latest(thread_id)

    with pytest.raises(Exception, match="cancelled"):
        await handle
    seen: list[int] = []
    original = store.latest

    async def counted(thread_id: str) -> Any:
        latest = await original(thread_id)
        head = await store.head(thread_id)
        seen.append(0 if head.claim is None else 1)
        return latest

    store.latest = counted  # type: ignore[method-assign]
    made.delays["b"].set()
    assert output(await (await GraphRuntime(store).recover("t", made.graph))) == ["planned", "A", "B", "summ"]
    assert seen == [0, 1]


async def test_a_busy_thread_says_who_holds_it() -> None:
    """R6.27: the thread, its latest checkpoint and the holding run."""
    store = InMemoryCheckpointer()
    made = chain()
    await GraphRuntime(store).run("t", made.graph, 1)
    at = (await store.head("t")).checkpoint_id
    claim = await store.claim("t", "the other run", 30)
    with pytest.raises(ThreadBusy) as caught:
        await GraphRuntime(store).start("t", made.graph, 1)
    assert (caught.value.thread_id, caught.value.checkpoint_id, caught.value.holder) == ("t", at, "the other run")
    await store.commit("t", Commit(token=claim.token, release=True))
    assert output(await GraphRuntime(store).run("t", made.graph, 1)) == ["start", "middle", "end"] * 2


async def test_a_claim_that_the_store_did_not_take_back_does_not_keep_the_thread_busy() -> None:
    """R8.2, R6.29: the error says "mend the store, then recover", and that works at once, not when a lease has run out."""

    class Unreachable(FailingStore):
        async def release(self, thread_id: str, token: int) -> None:
            self._check()
            await super().release(thread_id, token)

    store = Unreachable()
    runtime = GraphRuntime(store)
    builder = GraphBuilder("g", version="1")
    ran: list[int] = []

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        ran.append(1)
        store.dead = len(ran) == 1
        return Command().update(LOG, "ran")

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(CheckpointWriteFailed):
        await runtime.run("t", graph, None)
    with pytest.raises(StoreUnavailable):  # still unreachable: what keeps it is the store, not a run
        await runtime.recover("t", graph)
    store.dead = False
    assert output(await (await runtime.recover("t", graph))) == ["ran"]

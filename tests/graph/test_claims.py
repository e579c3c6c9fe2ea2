"""Claims, renewal and fencing, seen from a run (6.4, CLM)."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from datetime import datetime, timedelta

import pytest

from llm4s_notebook.checkpoint import Checkpointer, Commit, InMemoryCheckpointer, PendingWrite
from llm4s_notebook.errors import CheckpointWriteFailed, StaleClaim, StoreUnavailable, ThreadBusy
from llm4s_notebook.graph import ClaimPolicy, Command, GraphBuilder, GraphRuntime, RunConfig, Suspended
from llm4s_notebook.testing import ManualClock

from .graphs import LOG, Another, chain, fan, output, trace, until
from .stores import Failing, FailingStore, broken


@pytest.mark.parametrize("error", [broken(), ValueError("odd")], ids=["refuses", "raises"])
async def test_a_store_that_fails_at_the_claim_leaves_the_thread_new(failing: FailingStore, error: Exception) -> None:
    """CLM-03, R4.20, R4.22, R6.23, R6.28: nothing has run, and the same call works when the store does."""
    failing.error = error
    failing.dead = True
    runtime = GraphRuntime(failing)
    made = chain()
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.start("t", made.graph, 1)
    assert caught.value.cause is error
    assert not made.ran
    failing.dead = False
    assert (await failing.head("t")).checkpoint_id is None
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]


async def test_a_run_that_lost_its_claim_writes_nothing_more(
    runtime: GraphRuntime, another: Another, store: Checkpointer, clock: ManualClock
) -> None:
    """CLM-02, R6.25: the second recovers and completes; the first fails and the log is unchanged."""
    second = another()
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
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
    assert made.ran["summarize"] == 0
    assert await trace(store) == before


async def test_a_claim_lasts_as_long_as_the_policy_says_and_ends_with_the_run(
    runtime: GraphRuntime, store: Checkpointer, clock: ManualClock
) -> None:
    """R6.24: thirty seconds by the store's clock, held by the run; free once its outcome is there to be seen."""
    made = fan(delays=["a"])
    handle = await runtime.start("t", made.graph, ["a"])
    await until(lambda: made.ran["a"])
    claim = (await store.head("t")).claim
    assert claim is not None
    assert (claim.holder, claim.expires_at) == (handle.run_id, clock.now() + timedelta(seconds=30))
    made.delays["a"].set()
    await handle
    assert (await store.head("t")).claim is None


async def test_a_live_claim_is_renewed_while_the_loop_is_blocked(failing: FailingStore, clock: ManualClock) -> None:
    """D8, R6.24: from a thread of its own, by the store's clock."""
    runtime = GraphRuntime(failing, claims=ClaimPolicy(ttl=30, renew_every=0.01))
    builder = GraphBuilder("g", version="1")
    expires: list[datetime] = []

    def renewed() -> None:
        """Wait for a renewal that began from now on, without letting the loop do anything."""
        seen, end = failing.renewals, time.monotonic() + 20
        while failing.renewals < seen + 2 and time.monotonic() < end:
            time.sleep(0.002)

    @builder.node("blocks")
    async def blocks() -> None:
        for _ in range(3):
            clock.advance(25)
            renewed()  # 75 seconds by the store's clock: without a renewal the claim is long over
        claim = (await failing.head("t")).claim
        assert claim is not None
        expires.append(claim.expires_at)

    graph = builder.compile(blocks, output=lambda _: "done")
    assert output(await runtime.run("t", graph, None)) == "done"
    assert expires == [clock.now() + timedelta(seconds=30)]
    await runtime.aclose()


async def test_a_renewal_that_finds_the_claim_lost_stops_the_run_at_its_next_superstep(failing: FailingStore) -> None:
    """R6.25, CLM-05: a renewal that merely fails is retried."""

    def renewal(count: int) -> None:
        if count == 1:
            raise broken()
        if count > 2:
            raise StaleClaim(token=0, current=None)

    failing.on_renewal = renewal
    runtime = GraphRuntime(failing, claims=ClaimPolicy(ttl=5, renew_every=0.01))
    made = chain(before_middle=lambda: until(lambda: failing.renewals >= 3))
    with pytest.raises(CheckpointWriteFailed) as caught:
        await runtime.run("t", made.graph, 1)
    assert isinstance(caught.value.cause, StaleClaim)
    assert (made.ran["middle"], made.ran["end"]) == (1, 0)
    assert failing.renewals == 3  # a lost claim is not renewed
    await runtime.aclose()


async def test_recover_reads_the_writes_again_under_its_claim(failing: FailingStore, clock: ManualClock) -> None:
    """R6.26: what the last holder, whose lease had run out, wrote between the first reading and the claim is reused."""
    first, second = GraphRuntime(failing, clock=clock), GraphRuntime(failing, clock=clock)
    made = fan(delays=["b"])
    handle = await first.start("t", made.graph, ["a", "b"])
    await until(lambda: any(commit.writes for commit in failing.commits))  # the result of "a"
    head = await failing.head("t")
    assert head.claim is not None
    assert head.checkpoint_id is not None
    late = PendingWrite(head.checkpoint_id, "1.1", "worker", b'{"updates":[{"key":"items","value":"LATE"}],"routes":[]}')
    last_holder = Commit(token=head.claim.token, writes=(late,))
    failing.before_claim = lambda: failing.commit("t", last_holder)
    clock.advance(31)
    again = fan()
    assert output(await (await second.recover("t", again.graph))) == ["planned", "A", "LATE", "summ"]
    assert failing.before_claim is None
    assert again.ran == {"summarize": 1}
    made.delays["b"].set()
    with pytest.raises(CheckpointWriteFailed):
        await handle


async def test_a_busy_thread_says_who_holds_it(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R6.27: the thread, its latest checkpoint and the holding run."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    at = (await store.head("t")).checkpoint_id
    claim = await store.claim("t", "the other run", 30)
    with pytest.raises(ThreadBusy) as caught:
        await runtime.start("t", made.graph, 1)
    assert (caught.value.thread_id, caught.value.checkpoint_id, caught.value.holder) == ("t", at, "the other run")
    await store.commit("t", Commit(token=claim.token, release=True))
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"] * 2


async def test_a_claim_that_the_store_did_not_take_back_does_not_keep_the_thread_busy(failing: FailingStore) -> None:
    """R8.2, R6.29: the error says "mend the store, then recover", and that works at once, not when a lease has run out."""
    failing.keeps_claims = True
    runtime = GraphRuntime(failing)
    builder = GraphBuilder("g", version="1")
    ran: list[int] = []

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        ran.append(1)
        failing.dead = len(ran) == 1
        return Command().update(LOG, "ran")

    graph = builder.compile(start, output=lambda state: state[LOG])
    with pytest.raises(CheckpointWriteFailed):
        await runtime.run("t", graph, None)
    with pytest.raises(StoreUnavailable):  # still unreachable: what keeps it is the store, not a run
        await runtime.recover("t", graph)
    failing.dead = False
    assert output(await (await runtime.recover("t", graph))) == ["ran"]


def renewing() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "llm4s-claims"}


async def test_runtimes_over_one_store_renew_with_one_thread(failing: FailingStore) -> None:
    """D8, R6.24, W4: a fresh runtime starts no thread; one that is closed takes none of the others' renewals along, and a shorter
    interval is kept beside a longer one."""
    before = renewing()
    first, second = GraphRuntime(failing), GraphRuntime(failing, claims=ClaimPolicy(ttl=5, renew_every=0.01))
    slow, quick = fan(delays=["a"]), fan(delays=["a"])
    held = await first.start("t", slow.graph, ["a"])
    await until(lambda: slow.ran["a"])
    [thread] = renewing() - before
    other = await second.start("u", quick.graph, ["a"])
    await until(lambda: failing.renewals >= 3)
    slow.delays["a"].set()
    await held
    await first.aclose()
    seen = failing.renewals
    await until(lambda: failing.renewals >= seen + 3)
    assert renewing() - before == {thread}
    quick.delays["a"].set()
    await other
    await second.aclose()
    third = GraphRuntime(failing)
    assert output(await third.run("v", chain().graph, 1)) == ["start", "middle", "end"]
    assert renewing() - before == {thread}
    await third.aclose()


async def test_the_renewing_thread_holds_no_store_that_nobody_runs_on() -> None:
    """D23: a store that is dropped goes at once, whatever its runs were renewed by."""

    async def ran() -> weakref.ref[InMemoryCheckpointer]:
        store = InMemoryCheckpointer()
        runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=5, renew_every=0.01))
        made = fan(delays=["a"])
        handle = await runtime.start("t", made.graph, ["a"])
        [lease] = runtime._leases._own
        first = lease.due
        await until(lambda: lease.due > first)  # it was renewed
        made.delays["a"].set()
        await handle
        await runtime.aclose()
        return weakref.ref(store)

    gone = await ran()
    await until(lambda: gc.collect() >= 0 and gone() is None)


@pytest.mark.parametrize("kind", ["completed", "suspended"])
async def test_what_a_run_leaves_is_freed_at_once(store: Checkpointer, kind: str) -> None:
    """W4: handle, result and state are in no reference cycle, so that no long thread waits in memory for the garbage collector."""
    made = fan(delays=[])
    config = RunConfig(interrupt_before=frozenset({made.graph.topology().entry})) if kind == "suspended" else RunConfig()
    gc.collect()
    gc.disable()
    try:
        runtime = GraphRuntime(store)
        handle = await runtime.start("t", made.graph, ["a"], config)
        gone = weakref.ref(handle)
        outcome = await handle
        assert isinstance(outcome, Suspended) == (kind == "suspended")
        await runtime.aclose()
        del handle, outcome, runtime
        await until(lambda: gone() is None)  # a worker thread may just be letting go of it
    finally:
        gc.enable()


_FORKED = """
import asyncio, os
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.graph import ClaimPolicy, GraphBuilder, GraphRuntime

class Store(InMemoryCheckpointer):
    renewals = 0
    def renew_now(self, *given):
        self.renewals += 1
        return super().renew_now(*given)

async def run(store, thread):
    builder = GraphBuilder("g", version="1")

    @builder.node("waits")
    async def waits():
        async with asyncio.timeout(20):
            while store.renewals == 0:
                await asyncio.sleep(0.001)

    policy = ClaimPolicy(ttl=5, renew_every=0.01)
    await GraphRuntime(store, claims=policy).run(thread, builder.compile(waits, output=lambda _: None), None)

store = Store()
asyncio.run(run(store, "t"))
store.renewals = 0
if os.fork() == 0:
    asyncio.run(run(store, "u"))
    os._exit(0)
_, status = os.wait()
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_renews_its_own_claims() -> None:
    """D8: on a store in memory that it was born with; the thread that renewed before was not."""
    assert subprocess.run([sys.executable, "-c", _FORKED], check=False, timeout=120).returncode == 0


async def test_a_store_that_cannot_be_looked_up_has_its_claims_renewed_too() -> None:
    """R6.24: one of somebody else's may compare by value, and then it has no hash."""

    class Unhashable(Failing, InMemoryCheckpointer):
        __hash__ = None  # type: ignore[assignment]

    store = Unhashable()
    runtime = GraphRuntime(store, claims=ClaimPolicy(ttl=5, renew_every=0.01))
    made = chain(before_middle=lambda: until(lambda: store.renewals >= 2))
    assert output(await runtime.run("t", made.graph, 1)) == ["start", "middle", "end"]
    await runtime.aclose()

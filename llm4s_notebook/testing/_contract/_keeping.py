"""Retention, deletion, closing, and use from everywhere (R6.15 - R6.17, R6.37, D23)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ...checkpoint import (
    Append,
    Checkpointer,
    Commit,
    Entries,
    Head,
    RetentionPolicy,
    Set,
    Unset,
)
from ...errors import (
    ConfigError,
    ReplayUnavailable,
    StaleClaim,
    StoreUnavailable,
    ThreadBusy,
)
from .._clock import ManualClock
from .._making import COMPLETED, FAILED, RUNNING, SUSPENDED, chain, draft, event, write
from ._base import TTL, StoreTests, commit_all


class KeepingTests(StoreTests):
    """What goes, what stays, and who may call."""

    async def test_pruning_keeps_the_newest_and_drops_the_events_before_them(self, store: Checkpointer, clock: ManualClock) -> None:
        """HIS-17, R6.37: to two, then one; each kept checkpoint is whole, and the next commit is as before."""
        claim = await store.claim("t", "run", TTL)
        entries: dict[int, Entries] = {}
        for number in range(1, 6):
            status = COMPLETED if number % 2 else RUNNING
            patch = (
                Append("state", "m", (str(number).encode(),)),
                Set("state", "n", str(number).encode()),
                Unset("state", "gone"),
                *((Set("state", "gone", b"1"),) if number == 2 else ()),
            )
            await store.commit(
                "t",
                Commit(
                    token=claim.token,
                    checkpoints=(draft(clock, number, "", *patch, status=status),),
                    events=(event(clock, f"{number}"), event(clock)),
                ),
            )
            latest = await store.latest("t")
            assert latest is not None
            entries[number] = latest.checkpoint.entries
        await store.commit("t", Commit(token=claim.token, writes=(write("run/5"),)))
        for count, left in ((2, [5, 4]), (1, [5])):
            await store.prune("t", RetentionPolicy(max_checkpoints=count))
            assert [(one.superstep, one.entries) for one in await store.history("t")] == [(n, entries[n]) for n in left]
            assert [one.sequence for one in await store.events_after("t", 2 * left[-1] - 2)] == list(range(2 * left[-1] - 1, 11))
            with pytest.raises(ReplayUnavailable):
                await store.events_after("t", 2 * left[-1] - 3)
        latest = await store.latest("t")
        assert latest is not None
        assert latest.writes == (write("run/5"),)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 6, "", Append("state", "m", (b"6",))),)))
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.entries[("state", "m")] == [str(n).encode() for n in range(1, 7)]

    async def test_pruning_by_age_keeps_the_young_and_always_the_latest(self, store: Checkpointer, clock: ManualClock) -> None:
        """HIS-18, R6.37."""
        claim = await store.claim("t", "run", TTL)
        for commit_number in range(1, 5):
            await commit_all(store, "t", chain(clock, claim, [commit_number], status=COMPLETED))
            clock.advance(10)
        await store.prune("t", RetentionPolicy(max_age=25))
        assert [one.superstep for one in await store.history("t")] == [4, 3]
        clock.advance(10_000)
        await store.prune("t", RetentionPolicy(max_age=25))
        assert [one.superstep for one in await store.history("t")] == [4]

    async def test_pruning_keeps_the_base_of_a_retraction(self, store: Checkpointer, clock: ManualClock) -> None:
        """D17, R6.36: in the middle of a turn the newest settled checkpoint stays, so that a block can go back to it."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1]))
        await commit_all(store, "t", chain(clock, claim, [2], status=COMPLETED))
        await commit_all(store, "t", chain(clock, claim, [3, 4, 5]))
        await store.prune("t", RetentionPolicy(max_checkpoints=1))
        assert [(one.superstep, one.entries) for one in await store.history("t")] == [
            (5, {("state", "n"): b"5"}),
            (2, {("state", "n"): b"2"}),
        ]
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 6, "run/2", status=FAILED),), retract=True))
        assert [(one.superstep, one.entries) for one in await store.history("t")] == [
            (6, {("state", "n"): b"2"}),
            (2, {("state", "n"): b"2"}),
        ]

    async def test_pruning_by_events_keeps_the_newest_events(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.37: and no checkpoint is touched; an empty policy touches nothing."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        await store.commit("t", Commit(token=claim.token, events=tuple(event(clock) for _ in range(5))))
        await store.prune("t", RetentionPolicy())
        assert len(await store.events_after("t", 0)) == 5
        await store.prune("t", RetentionPolicy(max_events=2))
        assert [one.sequence for one in await store.events_after("t", 3)] == [4, 5]
        assert len(await store.history("t")) == 2

    async def test_a_policy_below_zero_is_refused(self, store: Checkpointer) -> None:
        """R6.37: every bad number is named."""
        with pytest.raises(ConfigError) as caught:
            await store.prune("t", RetentionPolicy(max_age=-1, max_checkpoints=-1, max_events=-1))
        assert caught.value.field == "policy"
        assert len(caught.value.problems) == 3

    @pytest.mark.parametrize("bad", [float("nan"), float("inf"), True, "1", [1]])
    async def test_a_policy_that_is_no_number_is_refused(self, store: Checkpointer, clock: ManualClock, bad: Any) -> None:
        """R6.37: every part is named, and nothing is dropped."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        with pytest.raises(ConfigError) as caught:
            await store.prune("t", RetentionPolicy(max_age=bad, max_checkpoints=bad, max_events=bad))
        assert [one.split()[0] for one in caught.value.problems] == ["max_age", "max_checkpoints", "max_events"]
        half: Any = 1.5
        for policy in (RetentionPolicy(max_checkpoints=half), RetentionPolicy(max_events=half)):
            with pytest.raises(ConfigError):
                await store.prune("t", policy)
        assert len(await store.history("t")) == 2

    async def test_an_age_longer_than_the_calendar_keeps_everything(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.37."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        await store.prune("t", RetentionPolicy(max_age=1e300, max_checkpoints=10**30, max_events=10**30))
        assert len(await store.history("t")) == 2

    async def test_a_deleted_thread_is_gone_with_its_text_and_its_claim(self, store: Checkpointer, place: Path, clock: ManualClock) -> None:
        """CTR-09, R6.17: the old token is stale, a new claim has a greater one, numbering starts at 1; other threads are untouched."""
        claim = await store.claim("t", "run", TTL)
        secret = b'"0815-4711"'
        commit = Commit(
            token=claim.token,
            checkpoints=(draft(clock, 1, None, Set("state", "a", secret)), draft(clock, 2, "", Set("state", "a", b"1"))),
            writes=(write("run/2", "0.0", secret),),
            events=(event(clock, "0815-4711"),),
        )
        await store.commit("t", commit)
        await store.claim_and_commit(
            "u",
            "run",
            TTL,
            Commit(token=0, checkpoints=(draft(clock, 1, None, Set("state", "a", b"1"), thread="u"),), events=(event(clock),)),
        )
        other = (await store.latest("u"), await store.events_after("u", 0))
        await store.delete_thread("t")
        assert (await store.latest("t"), await store.history("t"), await store.events_after("t", 0)) == (None, [], [])
        assert await store.head("t") == Head(None, None, None)
        assert b"0815-4711" not in await self.stored(store, place)
        with pytest.raises(StaleClaim):
            await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),)))
        new, records = await store.claim_and_commit(
            "t", "run", TTL, Commit(token=0, checkpoints=(draft(clock, 1),), events=(event(clock),))
        )
        assert new.token > claim.token
        assert [one.sequence for one in records] == [1]
        assert (await store.latest("u"), await store.events_after("u", 0)) == other

    async def test_several_loops_and_threads_use_one_store(self, store: Checkpointer, clock: ManualClock) -> None:
        """D23: four loops in four OS threads, each its own threads of conversation, while this loop reads."""

        async def turns(name: str) -> None:
            for turn in range(3):
                thread = f"{name}-{turn}"
                claim, _ = await store.claim_and_commit(thread, name, TTL, Commit(token=0, checkpoints=(draft(clock, 1, thread=thread),)))
                for number in range(2, 8):
                    made = draft(clock, number, "", Append("state", "m", (b"1",)), thread=thread)
                    await store.commit(thread, Commit(token=claim.token, checkpoints=(made,), events=(event(clock),)))
                await store.release(thread, claim.token)

        failures: list[BaseException] = []

        def run(name: str) -> None:
            try:
                asyncio.run(turns(name))
            except BaseException as error:
                failures.append(error)

        workers = [threading.Thread(target=run, args=(f"w{n}",)) for n in range(4)]
        for one in workers:
            one.start()
        while any(one.is_alive() for one in workers):
            await store.threads()
            await asyncio.sleep(0)
        assert failures == []
        for n in range(4):
            for turn in range(3):
                latest = await store.latest(f"w{n}-{turn}")
                assert latest is not None
                assert latest.checkpoint.entries == {("state", "m"): [b"1"] * 6}
                assert [one.sequence for one in await store.events_after(f"w{n}-{turn}", 0)] == list(range(1, 7))

    async def test_a_closed_store_refuses_every_call(self, place: Path, clock: ManualClock) -> None:
        """SQL-04: StoreUnavailable, no crash; closing twice is nothing, and whoever waits is told."""
        store = self.make(place, clock)
        waiting = asyncio.create_task(store.wait_events_after("t", 0, timeout=30))
        await store.claim("t", "run", TTL)
        await store.aclose()
        await store.aclose()
        with pytest.raises(StoreUnavailable):
            await waiting
        commit = Commit(token=1, checkpoints=(draft(clock, 1),))
        calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
            lambda: store.claim("t", "r", TTL),
            lambda: store.claim_and_commit("t", "r", TTL, commit),
            lambda: store.renew("t", 1, TTL),
            lambda: store.release("t", 1),
            lambda: store.commit("t", commit),
            lambda: store.head("t"),
            lambda: store.latest("t"),
            lambda: store.history("t"),
            lambda: store.checkpoint("t", "run/1"),
            lambda: store.events_after("t", 0),
            lambda: store.wait_events_after("t", 0),
            lambda: store.compact_events("t", 1),
            lambda: store.threads(),
            lambda: store.prune("t", RetentionPolicy()),
            lambda: store.delete_thread("t"),
        ]
        for call in calls:
            with pytest.raises(StoreUnavailable) as caught:
                await call()
            assert "closed" in caught.value.reason
        with pytest.raises(StoreUnavailable):
            store.renew_now("t", 1, TTL)

    async def test_what_was_committed_outlives_the_store(self, place: Path, clock: ManualClock) -> None:
        """SQL-01: a closed store's data, opened again, is the same - claim, tokens, numbers and all; memory says that it keeps nothing."""
        store = self.make(place, clock)
        claim, _ = await store.claim_and_commit(
            "t", "run", TTL, Commit(token=0, checkpoints=(draft(clock, 1, None, Append("state", "m", (b"1",))),))
        )
        await store.commit(
            "t",
            Commit(
                token=claim.token,
                checkpoints=(draft(clock, 2, "", Set("parked", "0.0", b"{}"), status=SUSPENDED),),
                writes=(write("run/2"),),
                events=(event(clock),),
            ),
        )
        before = (
            await store.latest("t"),
            await store.history("t"),
            await store.head("t"),
            await store.events_after("t", 0),
            await store.threads(),
        )
        location = store.location
        await store.aclose()
        if not self.durable:
            assert location is None
            return
        assert location is not None
        assert Path(location).is_absolute()
        again = self.make(place, clock)
        after = (
            await again.latest("t"),
            await again.history("t"),
            await again.head("t"),
            await again.events_after("t", 0),
            await again.threads(),
        )
        assert after == before
        with pytest.raises(ThreadBusy):
            await again.claim("t", "run", TTL)
        records = await again.commit("t", Commit(token=claim.token, events=(event(clock),), release=True))
        assert [one.sequence for one in records] == [2]
        assert (await again.claim("t", "run", TTL)).token > claim.token
        await again.aclose()

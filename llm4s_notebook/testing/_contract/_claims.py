"""Claims and fencing (R6.6 - R6.8, R6.23)."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from ...checkpoint import (
    Checkpointer,
    Commit,
    Head,
)
from ...checkpoint._event import (
    RunStarted,
)
from ...errors import (
    CheckpointConflict,
    ConfigError,
    InvalidCommit,
    StaleClaim,
    ThreadBusy,
)
from .._clock import ManualClock
from .._making import COMPLETED, RUNNING, chain, draft, event
from ._base import TTL, StoreTests, commit_all


class ClaimTests(StoreTests):
    """Who may write, and until when."""

    async def test_a_store_is_a_checkpointer(self, store: Checkpointer) -> None:
        """6.2: it has every operation of the protocol."""
        assert isinstance(store, Checkpointer)

    async def test_a_claim_is_granted_for_a_thread_that_does_not_exist(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.6: until now + ttl by the store's clock; the thread need not exist, and is not listed by that."""
        claim = await store.claim("t", "run", TTL)
        assert (claim.holder, claim.expires_at) == ("run", clock.now() + timedelta(seconds=TTL))
        assert claim.token > 0
        assert await store.head("t") == Head(None, None, claim)
        assert await store.latest("t") is None
        assert await store.threads() == []

    @pytest.mark.parametrize("holder", ["run", "other"])
    async def test_a_live_claim_refuses_any_other_also_of_the_same_holder(
        self, store: Checkpointer, clock: ManualClock, holder: str
    ) -> None:
        """R6.6: ThreadBusy naming the holder and the latest checkpoint; just before the end of the lease too."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1]))
        clock.advance(TTL - 0.001)
        with pytest.raises(ThreadBusy) as caught:
            await store.claim("t", holder, TTL)
        assert (caught.value.thread_id, caught.value.holder, caught.value.checkpoint_id) == ("t", "run", "run/1")
        assert (await store.head("t")).claim == claim

    async def test_an_expired_claim_is_replaced_by_one_with_a_greater_token(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.6, R1.9."""
        old = await store.claim("t", "run", TTL)
        clock.advance(TTL)
        assert (await store.head("t")).claim is None
        new = await store.claim("t", "other", TTL)
        assert new.token > old.token

    async def test_tokens_grow_over_all_threads(self, store: Checkpointer) -> None:
        """R1.9, R6.41: one counter for the whole store."""
        tokens = [(await store.claim(f"t{n}", "run", TTL)).token for n in range(4)]
        assert tokens == sorted(set(tokens))

    async def test_a_renewed_claim_lives_on(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.7."""
        claim = await store.claim("t", "run", TTL)
        clock.advance(20)
        renewed = await store.renew("t", claim.token, TTL)
        assert (renewed.token, renewed.holder, renewed.expires_at) == (claim.token, "run", clock.now() + timedelta(seconds=TTL))
        clock.advance(20)
        with pytest.raises(ThreadBusy):
            await store.claim("t", "other", TTL)

    async def test_a_claim_is_renewed_from_a_plain_thread_while_the_loop_is_blocked(self, store: Checkpointer, clock: ManualClock) -> None:
        """D8: `renew_now` needs no event loop."""
        claim = await store.claim("t", "run", TTL)
        clock.advance(20)
        renewed: list[Any] = []
        thread = threading.Thread(target=lambda: renewed.append(store.renew_now("t", claim.token, TTL)))
        thread.start()
        thread.join(10)  # blocks this loop on purpose
        assert renewed == [(await store.head("t")).claim]
        assert renewed[0].expires_at == clock.now() + timedelta(seconds=TTL)
        with pytest.raises(StaleClaim):
            store.renew_now("t", claim.token + 1, TTL)

    async def test_an_expired_claim_that_nobody_took_over_still_commits_and_renews(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-14, R6.7."""
        claim = await store.claim("t", "run", TTL)
        clock.advance(TTL * 10)
        await commit_all(store, "t", chain(clock, claim, [1]))
        await store.renew("t", claim.token, TTL)
        with pytest.raises(ThreadBusy):
            await store.claim("t", "other", TTL)

    async def test_a_claim_taken_over_is_fenced(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-11: the old holder's commit and renewal are StaleClaim, its release is ignored; nothing landed, no number was spent."""
        old = await store.claim("t", "run", TTL)
        clock.advance(TTL)
        new = await store.claim("t", "other", TTL)
        with pytest.raises(StaleClaim) as caught:
            await store.commit("t", Commit(token=old.token, checkpoints=(draft(clock, 1),), events=(event(clock),)))
        assert (caught.value.token, caught.value.current) == (old.token, new.token)
        with pytest.raises(StaleClaim):
            await store.renew("t", old.token, TTL)
        await store.release("t", old.token)
        assert await store.head("t") == Head(None, None, new)
        records = await store.commit("t", Commit(token=new.token, checkpoints=(draft(clock, 1),), events=(event(clock),)))
        assert [one.sequence for one in records] == [1]

    async def test_without_a_claim_nothing_can_be_committed(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-13: no claim at all, or a token that was never issued."""
        with pytest.raises(StaleClaim) as caught:
            await store.commit("t", Commit(token=1, checkpoints=(draft(clock, 1),)))
        assert caught.value.current is None
        claim = await store.claim("t", "run", TTL)
        with pytest.raises(StaleClaim):
            await store.commit("t", Commit(token=claim.token + 1, checkpoints=(draft(clock, 1),)))
        assert await store.latest("t") is None

    async def test_a_released_thread_is_free_at_once(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-15, R6.8: commit and renewal are StaleClaim, a claim is granted; a second release is nothing."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1]))
        await store.release("t", claim.token)
        await store.release("t", claim.token)
        with pytest.raises(StaleClaim):
            await store.commit("t", Commit(token=claim.token))
        with pytest.raises(StaleClaim):
            await store.renew("t", claim.token, TTL)
        assert (await store.head("t")).claim is None
        assert (await store.claim("t", "run", TTL)).token > claim.token

    async def test_a_claim_released_without_a_commit_leaves_nothing(self, store: Checkpointer) -> None:
        """R6.8."""
        claim = await store.claim("t", "run", TTL)
        await store.release("t", claim.token)
        await store.release("never", 1)
        assert await store.head("t") == Head(None, None, None)

    @pytest.mark.parametrize("ttl", [0.0, -1.0, float("nan"), float("inf"), 1e12, True, "30", None])
    async def test_a_lease_of_no_length_is_refused(self, store: Checkpointer, clock: ManualClock, ttl: Any) -> None:
        """R6.6: ConfigError on `ttl`, and nothing is claimed."""
        with pytest.raises(ConfigError) as caught:
            await store.claim("t", "run", ttl)
        assert caught.value.field == "ttl"
        with pytest.raises(ConfigError):
            await store.claim_and_commit("t", "run", ttl, Commit(token=0, checkpoints=(draft(clock, 1),)))
        claim = await store.claim("t", "run", TTL)
        with pytest.raises(ConfigError):
            await store.renew("t", claim.token, ttl)
        assert (await store.head("t")).claim == claim

    async def test_claim_and_commit_are_one_change(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.23: the commit's own token is ignored; the checkpoint carries the granted one."""
        claim, records = await store.claim_and_commit(
            "t", "run", TTL, Commit(token=-5, checkpoints=(draft(clock, 1),), events=(event(clock, RunStarted()),))
        )
        latest = await store.latest("t")
        assert latest is not None
        assert (latest.checkpoint.id, latest.checkpoint.token) == ("run/1", claim.token)
        assert [one.sequence for one in records] == [1]
        assert await store.head("t") == Head("run/1", RUNNING, claim)

    async def test_claim_and_commit_on_a_held_thread_changes_nothing(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.23: ThreadBusy, before the commit is looked at."""
        claim = await store.claim("t", "run", TTL)
        with pytest.raises(ThreadBusy):
            await store.claim_and_commit("t", "other", TTL, Commit(token=0, checkpoints=(draft(clock, 1, "nobody"),)))
        assert await store.head("t") == Head(None, None, claim)

    async def test_a_refused_commit_leaves_no_claim(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.23: two runtimes that read the same checkpoint - the second loses, and holds nothing."""
        first, _ = await store.claim_and_commit("t", "a", TTL, Commit(token=0, checkpoints=(draft(clock, 1),), release=True))
        with pytest.raises(CheckpointConflict) as caught:
            await store.claim_and_commit("t", "b", TTL, Commit(token=0, checkpoints=(draft(clock, 2, None),), events=(event(clock),)))
        assert (caught.value.expected, caught.value.actual) == (None, "run/1")
        with pytest.raises(InvalidCommit):
            await store.claim_and_commit("t", "b", TTL, Commit(token=0, checkpoints=(draft(clock, 1, "run/1"),)))
        with pytest.raises(InvalidCommit):
            await store.claim_and_commit("new", "b", TTL, Commit(token=0, retract=True))
        assert await store.head("t") == Head("run/1", RUNNING, None)
        assert await store.head("new") == Head(None, None, None)
        assert (await store.claim("t", "c", TTL)).token > first.token

    async def test_a_claim_can_name_the_token_its_parent_was_written_under(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.22: of two threads that had one id after another, with the same checkpoint ids, it is granted on the one that is meant."""
        first, _ = await store.claim_and_commit("t", "a", TTL, Commit(token=0, checkpoints=(draft(clock, 1),), release=True))
        await store.delete_thread("t")
        again, _ = await store.claim_and_commit("t", "a", TTL, Commit(token=0, checkpoints=(draft(clock, 1),), release=True))
        stale = Commit(token=0, checkpoints=(draft(clock, 2),), events=(event(clock),), parent_token=first.token)
        for _ in range(2):
            with pytest.raises(CheckpointConflict) as caught:
                await store.claim_and_commit("t", "b", TTL, stale)
            assert (caught.value.expected, caught.value.actual) == ("run/1", "run/1")
            assert await store.head("t") == Head("run/1", RUNNING, None)
        meant = Commit(token=0, checkpoints=(draft(clock, 2),), parent_token=again.token)
        claim, _ = await store.claim_and_commit("t", "b", TTL, meant)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 3),), parent_token=claim.token, release=True))
        assert await store.head("t") == Head("run/3", RUNNING, None)

    async def test_a_commit_releases_in_the_same_change(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.24: the thread is free once the outcome is durable; a refused commit keeps the claim."""
        claim = await store.claim("t", "run", TTL)
        with pytest.raises(InvalidCommit):
            await store.commit("t", Commit(token=claim.token, retract=True, release=True))
        assert (await store.head("t")).claim == claim
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1, status=COMPLETED),), release=True))
        assert await store.head("t") == Head("run/1", COMPLETED, None)
        claim, _ = await store.claim_and_commit("t", "run", TTL, Commit(token=0, checkpoints=(draft(clock, 2),), release=True))
        assert (await store.head("t")).claim is None
        await store.claim("t", "other", TTL)

    async def test_releasing_keeps_the_events_of_a_thread_without_a_checkpoint(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.8, R6.21: only the claim goes; the next commit's numbers go on from there."""
        claim = await store.claim("t", "run", TTL)
        told = await store.commit("t", Commit(token=claim.token, events=(event(clock),)))
        await store.release("t", claim.token)
        assert await store.events_after("t", 0) == list(told)
        again = await store.claim("t", "run", TTL)
        more = await store.commit("t", Commit(token=again.token, events=(event(clock),), release=True))
        assert [one.sequence for one in more] == [2]

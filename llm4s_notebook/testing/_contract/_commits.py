"""Commits (R6.18 - R6.22)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from ...checkpoint import (
    Append,
    Checkpointer,
    CheckpointStatus,
    Commit,
    EventDraft,
    PendingWrite,
    Replace,
    Set,
    Truncate,
    Unset,
)
from ...checkpoint._event import (
    Custom,
    Progress,
    RunCompleted,
)
from ...errors import (
    CheckpointConflict,
    InvalidCommit,
    StaleClaim,
)
from .._clock import ManualClock
from .._making import COMPLETED, chain, draft, event, header, write
from ._base import TTL, StoreTests, commit_all
from ._events import EVERY_EVENT


class CommitTests(StoreTests):
    """All or nothing, in the order of the rules."""

    async def test_events_are_numbered_along_the_thread_and_writes_add_up(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-01, R6.20, R6.21: numbers 1, 2, then 3; both writes present, in order."""
        claim = await store.claim("t", "run", TTL)
        first = await store.commit(
            "t",
            Commit(
                token=claim.token,
                checkpoints=(draft(clock, 1),),
                writes=(write("run/1", "0.0"),),
                events=(event(clock, "a"), event(clock, "b")),
            ),
        )
        second = await store.commit("t", Commit(token=claim.token, writes=(write("run/1", "0.1"),), events=(event(clock, "c"),)))
        assert [one.sequence for one in (*first, *second)] == [1, 2, 3]
        latest = await store.latest("t")
        assert latest is not None
        assert latest.writes == (write("run/1", "0.0"), write("run/1", "0.1"))
        assert (await store.head("t")).write_count == 2

    async def test_a_new_checkpoint_drops_the_writes_of_the_one_before(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-04, R6.20: after c1 with a write and c2 with one, only c2's write is there."""
        claim = await store.claim("t", "run", TTL)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),), writes=(write("run/1"),)))
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2),), writes=(write("run/2", "1.0"),)))
        latest = await store.latest("t")
        assert latest is not None
        assert latest.writes == (write("run/2", "1.0"),)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 3),)))
        latest = await store.latest("t")
        assert latest is not None
        assert latest.writes == ()

    @pytest.mark.parametrize("status", list(CheckpointStatus))
    async def test_all_of_a_checkpoint_comes_back_as_it_was(
        self, store: Checkpointer, clock: ManualClock, status: CheckpointStatus
    ) -> None:
        """CTR-05, FMT-04, R6.3: every status, unicode and nested values, empty lists, times to the microsecond."""
        clock.advance(0.123457)
        claim = await store.claim("t", "run", TTL)
        body, journal = '{"π":["🦊",null,{"a":[]}]}'.encode(), '[{"node":"é"}]'.encode()
        made = header(clock, 1, None, status=status, body=body, journal=journal)
        text = '{"深":"\\u0000 „x“"}'.encode()
        patch = (
            Set("state", "k", text),
            Append("state", "empty", ()),
            Append("state", "list", (b"1", text)),
            Set("odd / section", "", b"null"),
        )
        pending = PendingWrite("run/1", "0.0", "nœud", text)
        await store.commit("t", Commit(token=claim.token, checkpoints=(type(draft(clock, 1))(made, patch),), writes=(pending,)))
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.header == made
        assert latest.checkpoint.token == claim.token
        assert latest.checkpoint.entries == {
            ("state", "k"): text,
            ("state", "empty"): [],
            ("state", "list"): [b"1", text],
            ("odd / section", ""): b"null",
        }
        assert latest.writes == (pending,)
        assert await store.history("t") == [latest.checkpoint]
        assert await store.checkpoint("t", "run/1") == latest.checkpoint
        assert latest.checkpoint.created_at.utcoffset() == timedelta(0)

    async def test_every_kind_of_event_comes_back_as_it_was(self, store: Checkpointer, clock: ManualClock) -> None:
        """R7.1, R7.2: with its run, checkpoint, task, node and time."""
        claim = await store.claim("t", "run", TTL)
        drafts = tuple(
            EventDraft(
                f"run-{n}",
                one,
                clock.advance(0.000_001),
                f"run/{n}" if n % 2 else None,
                f"{n}.0" if n % 3 else None,
                "né" if n % 5 else None,
            )
            for n, one in enumerate(EVERY_EVENT)
        )
        returned = await store.commit("t", Commit(token=claim.token, events=drafts))
        expected = [one.numbered("t", n + 1) for n, one in enumerate(drafts)]
        assert list(returned) == expected
        assert await store.events_after("t", 0) == expected

    async def test_several_checkpoints_of_one_commit_are_each_in_the_history(self, store: Checkpointer, clock: ManualClock) -> None:
        """D18: a bookkeeping superstep's checkpoint and the closing one ride in one transaction; writes name the last."""
        claim = await store.claim("t", "run", TTL)
        commit = Commit(
            token=claim.token,
            checkpoints=(
                draft(clock, 1, None, Set("state", "a", b"1"), Append("state", "m", (b"1",))),
                draft(clock, 2, "run/1", Append("state", "m", (b"2",)), Unset("state", "a")),
                draft(clock, 3, "run/2", Set("state", "a", b"3"), status=COMPLETED),
            ),
            writes=(write("run/3"),),
        )
        await store.commit("t", commit)
        assert [(one.id, one.entries) for one in await store.history("t")] == [
            ("run/3", {("state", "m"): [b"1", b"2"], ("state", "a"): b"3"}),
            ("run/2", {("state", "m"): [b"1", b"2"]}),
            ("run/1", {("state", "a"): b"1", ("state", "m"): [b"1"]}),
        ]

    async def test_a_stale_token_wins_over_a_wrong_parent(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-12, R6.19: (1) comes before (2)."""
        await store.claim("t", "run", TTL)
        with pytest.raises(StaleClaim):
            await store.commit("t", Commit(token=999, checkpoints=(draft(clock, 1, "nobody"),)))

    async def test_a_wrong_parent_wins_over_a_known_id(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.19, R6.22: (2) comes before (3) and (4); the error names both ids."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        with pytest.raises(CheckpointConflict) as caught:
            await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, "run/1"),), writes=(write("nobody"),)))
        assert (caught.value.expected, caught.value.actual) == ("run/1", "run/2")

    async def test_an_id_of_the_history_is_not_taken_again(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.19(3): also one that a retraction would remove, and one twice in a commit."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        for commit in (
            Commit(token=claim.token, checkpoints=(draft(clock, 1, "run/2"),), writes=(write("nobody"),)),
            Commit(token=claim.token, checkpoints=(draft(clock, 2, None),), retract=True),
            Commit(token=claim.token, checkpoints=(draft(clock, 3), draft(clock, 3, "run/3"))),
        ):
            with pytest.raises(InvalidCommit) as caught:
                await store.commit("t", commit)
            assert caught.value.thread_id == "t"
        assert [one.id for one in await store.history("t")] == ["run/2", "run/1"]

    async def test_malformed_commits_are_refused_and_change_nothing(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.19(4, 5), R6.9, R6.21: nothing is applied and no number is spent, however late the fault is found."""
        claim = await store.claim("t", "run", TTL)
        token = claim.token
        await store.commit(
            "t",
            Commit(
                token=token,
                checkpoints=(draft(clock, 1, None, Set("state", "a", b"1"), Append("state", "m", (b"1",))),),
                events=(event(clock),),
            ),
        )
        before = (await store.latest("t"), await store.history("t"), await store.head("t"), await store.threads())
        good = (event(clock, "lost"),)
        two = draft(clock, 2)
        naive = EventDraft("run", RunCompleted(), clock.now().replace(tzinfo=None))
        faults = {
            "a write naming the checkpoint before": Commit(token=token, checkpoints=(two,), writes=(write("run/1"),), events=good),
            "a write naming nobody": Commit(token=token, writes=(write("run/9"),), events=good),
            "a retraction without a checkpoint": Commit(token=token, retract=True, events=good),
            "a second checkpoint that is not on top": Commit(token=token, checkpoints=(two, draft(clock, 3, "run/1")), events=good),
            "a checkpoint of another thread": Commit(token=token, checkpoints=(draft(clock, 2, thread="u"),), events=good),
            "an append to a value": Commit(
                token=token, checkpoints=(draft(clock, 2, "run/1", Append("state", "a", (b"1",))),), events=good
            ),
            "a fault behind changes that fit": Commit(
                token=token,
                checkpoints=(
                    draft(clock, 2, "run/1", Append("state", "m", (b"2",)), Replace("state", "m", 0, b"0"), Unset("state", "a")),
                    draft(clock, 3, "run/2", Set("state", "b", b"1"), Truncate("state", "m", 1), Truncate("state", "m", 2)),
                ),
                events=good,
            ),
            "a replacement of nothing": Commit(
                token=token,
                checkpoints=(two, draft(clock, 3, "run/2", Replace("state", "m", 1, b"1"))),
                writes=(write("run/3"),),
                events=good,
            ),
            "a truncation that would lengthen": Commit(
                token=token, checkpoints=(draft(clock, 2, "run/1", Set("state", "a", b"2"), Truncate("state", "m", 2)),), events=good
            ),
            "a live event": Commit(token=token, events=(*good, EventDraft("run", Progress("p", 1, None), clock.now()))),
            "an event that is no JSON": Commit(token=token, events=(*good, EventDraft("run", Custom("c", 1, {1, 2}), clock.now()))),
            "an event with NaN": Commit(token=token, events=(*good, EventDraft("run", Custom("c", 1, float("nan")), clock.now()))),
            "a time without a zone": Commit(token=token, events=(*good, naive)),
        }
        for name, commit in faults.items():
            with pytest.raises(InvalidCommit):
                await store.commit("t", commit)
            assert (await store.latest("t"), await store.history("t"), await store.head("t"), await store.threads()) == before, name
        records = await store.commit("t", Commit(token=token, events=(event(clock),)))
        assert [one.sequence for one in records] == [2]

    async def test_of_many_committers_each_gets_contiguous_numbers(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-08: contiguous, unique, one commit's events adjacent."""
        claim = await store.claim("t", "run", TTL)
        commits = [Commit(token=claim.token, events=tuple(event(clock, f"{n}") for _ in range(3))) for n in range(50)]
        returned = await asyncio.gather(*(store.commit("t", one) for one in commits))
        stored = await store.events_after("t", 0)
        assert [one.sequence for one in stored] == list(range(1, 151))
        for records in returned:
            numbers = [one.sequence or 0 for one in records]
            assert numbers == list(range(numbers[0], numbers[0] + 3))
            assert [stored[number - 1].event for number in numbers] == [one.event for one in records]

    async def test_one_refused_committer_fails_no_neighbour(self, store: Checkpointer, clock: ManualClock) -> None:
        """D18: what is committed together is still each caller's own."""
        claims = [await store.claim(f"t{n}", "run", TTL) for n in range(20)]
        commits = [
            store.commit(f"t{n}", Commit(token=claim.token + (10_000 if n % 3 == 0 else 0), checkpoints=(draft(clock, 1, thread=f"t{n}"),)))
            for n, claim in enumerate(claims)
        ]
        outcomes = await asyncio.gather(*commits, return_exceptions=True)
        for n, outcome in enumerate(outcomes):
            assert isinstance(outcome, StaleClaim) == (n % 3 == 0)
            assert (await store.latest(f"t{n}") is None) == (n % 3 == 0)

    async def test_stored_data_is_out_of_reach(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.2: whoever changes what was passed in or read changes nothing stored."""
        claim = await store.claim("t", "run", TTL)
        payload: dict[str, Any] = {"a": [1]}
        returned = await store.commit(
            "t",
            Commit(
                token=claim.token,
                checkpoints=(draft(clock, 1, None, Append("state", "m", (b"1",))),),
                events=(EventDraft("run", Custom("c", 1, payload), clock.now()),),
            ),
        )
        payload["a"].append(2)
        for record in (*returned, *await store.events_after("t", 0)):
            assert isinstance(record.event, Custom)
            record.event.payload["b"] = 3
        before = await store.latest("t")
        assert before is not None
        for read in (before.checkpoint, await store.checkpoint("t", "run/1"), *await store.history("t")):
            assert read is not None
            entry = read.entries[("state", "m")]
            assert isinstance(entry, list)
            entry.append(b"2")
            read.entries[("state", "x")] = b"1"
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.entries == {("state", "m"): [b"1"]}
        stored = (await store.events_after("t", 0))[0].event
        assert isinstance(stored, Custom)
        assert stored.payload == {"a": [1]}

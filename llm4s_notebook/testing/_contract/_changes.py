"""What a patch, a retraction and a fork leave behind (D17, R6.32, R6.36)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from ...checkpoint import (
    Append,
    Checkpointer,
    Commit,
    Entries,
    Head,
    Replace,
    Set,
    Truncate,
    Unset,
    apply_patch,
    whole,
)
from ...checkpoint._event import (
    RunFailed,
    ThreadForked,
)
from ...errors import (
    CheckpointConflict,
    InvalidCommit,
)
from .._checkpointer_machine import CheckpointerMachine
from .._clock import ManualClock
from .._making import COMPLETED, FAILED, SUSPENDED, chain, draft, event, header, write
from ._base import TTL, StoreTests, commit_all


class ChangeTests(StoreTests):
    """A checkpoint is its parent and a patch."""

    async def test_a_patch_means_what_apply_patch_says(self, store: Checkpointer, clock: ManualClock) -> None:
        """D17: every operation, also several on one entry, and every older checkpoint stays as it was."""
        patches = [
            (Set("state", "a", b"1"), Append("state", "m", (b"1", b"2", b"3")), Append("state", "none", ())),
            (Replace("state", "m", 1, b"two"), Append("state", "m", (b"4",)), Set("state", "a", b"2"), Set("state", "a", b"3")),
            (Truncate("state", "m", 2), Append("state", "m", (b"5",)), Replace("state", "m", 2, b"five"), Unset("state", "none")),
            (Truncate("state", "m", 0), Unset("state", "missing"), Set("state", "none", b"0"), Unset("state", "none")),
            (
                Append("state", "m", (b"6",)),
                Unset("state", "m"),
                Append("state", "m", (b"7",)),
                Unset("state", "a"),
                Append("state", "a", (b"8",)),
            ),
            (Set("state", "m", b"9"), Append("state", "a", ()), Truncate("state", "a", 1)),
        ]
        claim = await store.claim("t", "run", TTL)
        entries: Entries = {}
        expected: list[Entries] = []
        for number, patch in enumerate(patches, 1):
            await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, number, "", *patch),)))
            apply_patch(entries, patch)
            expected.append({at: list(entry) if isinstance(entry, list) else entry for at, entry in entries.items()})
            latest = await store.latest("t")
            assert latest is not None
            assert latest.checkpoint.entries == entries
        assert [one.entries for one in reversed(await store.history("t"))] == expected

    async def test_entries_of_a_section_come_in_the_order_in_which_they_were_set(self, store: Checkpointer, clock: ManualClock) -> None:
        """D17: an entry set again moves to the end, one appended to does not; ids are not sorted as text (R1.12)."""
        claim = await store.claim("t", "run", TTL)
        names = ["1.10", "1.2", "1.0"]
        await store.commit(
            "t", Commit(token=claim.token, checkpoints=(draft(clock, 1, None, *(Set("parked", name, b"{}") for name in names)),))
        )
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, "run/1", Set("parked", "1.10", b"1")),)))
        one, two = reversed(await store.history("t"))
        assert one.interrupts == ("1.10", "1.2", "1.0")
        assert two.interrupts == ("1.2", "1.0", "1.10")

    def test_random_operations_have_the_same_answers_as_a_dict(self, tmp_path: Path) -> None:
        """D17, R6.6-R6.21, R6.36, R6.37: commits, retractions, claims, pruning, compaction and deletion in any order."""
        count = 0

        def fresh(clock: ManualClock) -> Checkpointer:
            nonlocal count
            count += 1
            folder = tmp_path / f"{count}"
            folder.mkdir()
            return self.make(folder, clock)

        class Machine(CheckpointerMachine):
            def __init__(self) -> None:
                super().__init__(fresh)

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=200,
                stateful_step_count=30,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            ),
        )

    async def test_a_retraction_removes_the_turn_and_its_text(self, store: Checkpointer, place: Path, clock: ManualClock) -> None:
        """R6.36, R6.19(2), D17: what is left is the settled history and the closing checkpoint on top of it; the text is gone for good."""
        claim = await store.claim("t", "run", TTL)
        secret = b'"the launch code is 4711-0815"'
        await store.commit(
            "t",
            Commit(
                token=claim.token, checkpoints=(draft(clock, 1, None, Append("state", "m", (b'"kept words"',)), Set("state", "a", b"1")),)
            ),
        )
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 2, "", status=COMPLETED),)))
        leaking = draft(
            clock,
            3,
            "run/2",
            Append("state", "m", (secret,)),
            Set("task", "2.0", secret),
            Unset("state", "a"),
            Replace("state", "m", 0, secret),
        )
        leaking = type(leaking)(header(clock, 3, "run/2", body=b"[" + secret + b"]", journal=b"[" + secret + b"]"), leaking.patch)
        await store.commit("t", Commit(token=claim.token, checkpoints=(leaking,), writes=(write("run/3", "2.0", secret),)))
        await store.commit(
            "t", Commit(token=claim.token, checkpoints=(draft(clock, 4, "", Set("parked", "2.0", secret), status=SUSPENDED),))
        )
        await store.commit(
            "t",
            Commit(
                token=claim.token,
                checkpoints=(draft(clock, 5, "", Unset("parked", "2.0"), Unset("task", "2.0")),),
                writes=(write("run/5", "3.0", secret),),
            ),
        )
        assert b"4711-0815" in await self.stored(store, place)
        with pytest.raises(CheckpointConflict) as caught:
            await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 6, status=FAILED),), retract=True))
        assert (caught.value.expected, caught.value.actual) == ("run/5", "run/2")
        closing = draft(clock, 6, "run/2", Set("state", "blocked", b"true"), status=FAILED)
        await store.commit(
            "t", Commit(token=claim.token, checkpoints=(closing,), retract=True, events=(event(clock, RunFailed("Blocked")),))
        )
        assert [(one.id, one.parent_id) for one in await store.history("t")] == [("run/6", "run/2"), ("run/2", "run/1"), ("run/1", None)]
        latest = await store.latest("t")
        assert latest is not None
        assert latest.writes == ()
        assert latest.checkpoint.entries == {("state", "m"): [b'"kept words"'], ("state", "a"): b"1", ("state", "blocked"): b"true"}
        assert await store.checkpoint("t", "run/4") is None
        left = await self.stored(store, place)
        assert b"4711-0815" not in left
        assert b"kept words" in left
        # and the thread goes on, and can be retracted again
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 7, "", Append("state", "m", (b"2",))),)))
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 8, "run/6", status=FAILED),), retract=True))
        assert [one.id for one in await store.history("t")] == ["run/8", "run/6", "run/2", "run/1"]
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.entries[("state", "m")] == [b'"kept words"']

    async def test_a_retracted_first_turn_leaves_only_its_closing_checkpoint(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.36, HIS-20: without a settled checkpoint the base is nothing, and the parent is none."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        closing = draft(clock, 3, None, Set("state", "x", b"1"), status=FAILED)
        await store.commit("t", Commit(token=claim.token, checkpoints=(closing,), retract=True, release=True))
        history = await store.history("t")
        assert [(one.id, one.parent_id, one.entries) for one in history] == [("run/3", None, {("state", "x"): b"1"})]
        assert await store.head("t") == Head("run/3", FAILED, None)

    async def test_a_retracted_turn_is_closed_under_its_own_run(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.3, R6.36: the base belongs to another run, and perhaps to another version of the graph."""
        claim = await store.claim("t", "run", TTL)
        settled = draft(clock, 1, None, status=COMPLETED, run="first")
        begun = draft(clock, 2, "first/1", run="second")
        closing = draft(clock, 3, "first/1", status=FAILED, run="second")
        changed = closing._replace(header=closing.header._replace(graph_version="9", fingerprint="other"))
        await store.commit("t", Commit(token=claim.token, checkpoints=(settled,)))
        for last in (begun, closing):
            await store.commit("t", Commit(token=claim.token, checkpoints=(last,), retract=last is closing))
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 4, "second/3", run="second"),)))
        third = changed._replace(header=changed.header._replace(id="third/5", run_id="third", parent_id="second/3"))
        await store.commit("t", Commit(token=claim.token, checkpoints=(third,), retract=True))
        assert [one.header for one in await store.history("t")] == [third.header, closing.header, settled.header]

    async def test_a_refused_retraction_removes_nothing(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.9: also when the closing patch does not fit what is left."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1, 2]))
        before = (await store.history("t"), await store.latest("t"))
        with pytest.raises(InvalidCommit):
            await store.commit(
                "t", Commit(token=claim.token, checkpoints=(draft(clock, 3, None, Replace("state", "n", 0, b"1")),), retract=True)
            )
        assert (await store.history("t"), await store.latest("t")) == before

    async def test_a_fork_is_written_as_a_whole(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.32, D17: `whole` of a checkpoint's entries makes an equal one in a new thread; the source is only read."""
        claim = await store.claim("t", "run", TTL)
        await store.commit(
            "t", Commit(token=claim.token, checkpoints=(draft(clock, 1, None, Append("state", "m", (b"1",)), Set("parked", "0.0", b"{}")),))
        )
        source = await store.checkpoint("t", "run/1")
        assert source is not None
        root = draft(clock, 1, None, *whole(source.entries), thread="fork", run="other")
        _, records = await store.claim_and_commit(
            "fork", "r", TTL, Commit(token=0, checkpoints=(root,), events=(event(clock, ThreadForked("t", "run/1")),), release=True)
        )
        assert [one.sequence for one in records] == [1]
        forked = await store.latest("fork")
        assert forked is not None
        assert list(forked.checkpoint.entries.items()) == list(source.entries.items())
        assert [one.id for one in await store.history("t")] == ["run/1"]

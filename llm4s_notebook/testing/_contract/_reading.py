"""Reading back, and lists of threads (R6.10 - R6.14)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ...checkpoint import (
    Checkpointer,
    Commit,
    EventRecord,
    Head,
    RetentionPolicy,
    Set,
    Unset,
)
from ...errors import (
    CheckpointNotFound,
    ConfigError,
    ReplayUnavailable,
    ThreadNotFound,
    UnsupportedCheckpointFormat,
)
from .._clock import ManualClock
from .._making import COMPLETED, FAILED, RUNNING, SUSPENDED, chain, draft, event
from ._base import TTL, StoreTests, commit_all


class ReadingTests(StoreTests):
    """What was stored, page by page."""

    async def test_an_unknown_thread_reads_as_nothing(self, store: Checkpointer) -> None:
        """R6.10 - R6.13."""
        assert await store.latest("t") is None
        assert await store.history("t") == []
        assert await store.checkpoint("t", "run/1") is None
        assert await store.events_after("t", 7) == []
        assert await store.compact_events("t", 5) == 1
        assert await store.head("t") == Head(None, None, None)
        await store.prune("t", RetentionPolicy(max_checkpoints=1))
        await store.delete_thread("t")

    async def test_history_is_paged_from_the_newest(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.11: older than `before`, at most `limit`."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, range(1, 13)))
        everything = await store.history("t")
        assert [one.superstep for one in everything] == list(range(12, 0, -1))
        pages: list[list[int]] = []
        before: str | None = None
        while page := await store.history("t", before, limit=5):
            pages.append([one.superstep for one in page])
            assert [one.entries[("state", "n")] for one in page] == [str(one.superstep).encode() for one in page]
            before = page[-1].id
        assert pages == [[12, 11, 10, 9, 8], [7, 6, 5, 4, 3], [2, 1]]

    async def test_history_refuses_an_unknown_place_and_an_empty_page(self, store: Checkpointer, clock: ManualClock) -> None:
        """HIS-04, R6.11, R6.31."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1]))
        with pytest.raises(CheckpointNotFound) as caught:
            await store.history("t", "run/9")
        assert (caught.value.thread_id, caught.value.checkpoint_id) == ("t", "run/9")
        with pytest.raises(CheckpointNotFound):
            await store.history("nobody", "run/1")
        calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
            lambda: store.history("t", limit=0),
            lambda: store.events_after("t", 0, limit=0),
            lambda: store.wait_events_after("t", 0, limit=0),
            lambda: store.threads(limit=0),
        ]
        for call in calls:
            with pytest.raises(ConfigError) as refused:
                await call()
            assert refused.value.field == "limit"

    async def test_events_are_read_in_pages(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-06, R6.13: 1-2, 3-4, 5, empty."""
        claim = await store.claim("t", "run", TTL)
        await store.commit("t", Commit(token=claim.token, events=tuple(event(clock, f"{n}") for n in range(5))))
        pages = [[one.sequence for one in await store.events_after("t", after, 2)] for after in (0, 2, 4, 5)]
        assert pages == [[1, 2], [3, 4], [5], []]

    async def test_compacted_events_are_gone_and_the_floor_stays(self, store: Checkpointer, clock: ManualClock) -> None:
        """CTR-07, R6.13, R6.15: compact to 4, then 2, then 100 - floor 4 stays, then nothing is left and the next number is 6."""
        claim = await store.claim("t", "run", TTL)
        await store.commit("t", Commit(token=claim.token, events=tuple(event(clock) for _ in range(5))))
        assert await store.compact_events("t", 4) == 4
        assert await store.compact_events("t", 2) == 4
        assert [one.sequence for one in await store.events_after("t", 3)] == [4, 5]
        with pytest.raises(ReplayUnavailable) as caught:
            await store.events_after("t", 2)
        assert caught.value.earliest == 4
        assert await store.compact_events("t", 100) == 6
        assert await store.events_after("t", 5) == []
        with pytest.raises(ReplayUnavailable):
            await store.wait_events_after("t", 4)
        records = await store.commit("t", Commit(token=claim.token, events=(event(clock),)))
        assert [one.sequence for one in records] == [6]

    async def test_waiting_for_events_ends_with_the_commit_that_brings_them(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.14: also for a waiter on another event loop (D23); what is there already is returned at once."""
        claim = await store.claim("t", "run", TTL)
        elsewhere: list[list[EventRecord]] = []
        ready = threading.Event()

        async def waiting_elsewhere() -> None:
            ready.set()
            elsewhere.append(await store.wait_events_after("t", 0, timeout=30))

        other = threading.Thread(target=asyncio.run, args=(waiting_elsewhere(),))
        other.start()
        here = asyncio.create_task(store.wait_events_after("t", 0, timeout=30))
        await asyncio.to_thread(ready.wait, 10)
        await store.commit("t", Commit(token=claim.token, events=(event(clock, "now"),)))
        events = await here
        assert [one.sequence for one in events] == [1]
        await asyncio.to_thread(other.join, 20)
        assert elsewhere == [events]
        assert await store.wait_events_after("t", 0, timeout=30) == events

    async def test_waiting_for_events_ends_empty_when_the_time_is_over(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.14: a commit to another thread does not end it."""
        claim = await store.claim("u", "run", TTL)
        waiting = asyncio.create_task(store.wait_events_after("t", 0, timeout=0.05))
        await store.commit("u", Commit(token=claim.token, events=(event(clock),)))
        assert await waiting == []

    async def test_a_cancelled_wait_is_cancelled(self, store: Checkpointer) -> None:
        """CancelledError passes untouched, and the store works on."""
        waiting = asyncio.create_task(store.wait_events_after("t", 0, timeout=30))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await store.events_after("t", 0) == []

    @pytest.mark.parametrize("number", [2, 0, -1, None])
    async def test_another_format_is_refused(self, store: Checkpointer, place: Path, clock: ManualClock, number: int | None) -> None:
        """FMT-05, R6.5: a newer number, one that is none, or none at all."""
        claim = await store.claim("t", "run", TTL)
        await commit_all(store, "t", chain(clock, claim, [1]))
        await self.set_format(store, place, "run/1", number)
        calls: list[Callable[[], Coroutine[Any, Any, object]]] = [
            lambda: store.latest("t"),
            lambda: store.history("t"),
            lambda: store.checkpoint("t", "run/1"),
        ]
        for call in calls:
            with pytest.raises(UnsupportedCheckpointFormat) as caught:
                await call()
            assert (caught.value.found, caught.value.supported) == (number, 1)
        assert (await store.head("t")).checkpoint_id == "run/1"

    @pytest.mark.parametrize("bad", [0, -1, 1.5, True, "1", None])
    async def test_a_page_of_no_size_is_refused(self, store: Checkpointer, bad: Any) -> None:
        """R6.31: ConfigError on `limit`, whatever is paged."""
        for call in (
            lambda: store.history("t", limit=bad),
            lambda: store.threads(limit=bad),
            lambda: store.events_after("t", 0, limit=bad),
            lambda: store.wait_events_after("t", 0, limit=bad, timeout=0),
        ):
            with pytest.raises(ConfigError) as caught:
                await call()
            assert caught.value.field == "limit"

    async def test_what_is_no_number_no_status_and_no_id_is_refused_or_not_found(self, store: Checkpointer, clock: ManualClock) -> None:
        """R6.11-R6.15: a sequence is a whole number, and below the first event is the beginning; an id of another kind is nobody's."""
        claim = await store.claim("t", "run", TTL)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),), events=(event(clock), event(clock))))
        for bad in (1.5, "1", None, True):
            given: Any = bad
            status: Any = "Sleeping" if bad is None else bad
            before: Any = 5 if bad is None else bad
            for call in (
                lambda given=given: store.events_after("t", given),
                lambda given=given: store.wait_events_after("t", given, timeout=0),
                lambda given=given: store.compact_events("t", given),
            ):
                with pytest.raises(ConfigError):
                    await call()
            with pytest.raises(ConfigError) as caught:
                await store.threads(status=status)
            assert caught.value.field == "status"
            assert await store.checkpoint("t", given) is None
            with pytest.raises(CheckpointNotFound):
                await store.history("t", before=before)
        assert [one.sequence for one in await store.events_after("t", -(10**30))] == [1, 2]
        assert await store.events_after("t", 10**30) == []
        named: Any = "Running"
        assert [one.thread_id for one in await store.threads(status=named)] == ["t"]
        assert await store.compact_events("t", -5) == 1
        assert await store.latest("\ud800") is None
        assert await store.history("\ud800") == []
        assert await store.checkpoint("t", "\ud800/1") is None

    async def test_threads_are_listed_newest_first_with_what_waits(self, store: Checkpointer, clock: ManualClock) -> None:
        """W8: status, times and parked interrupts in their order, records included."""
        start = clock.now()
        for n, status in enumerate([COMPLETED, SUSPENDED, RUNNING, SUSPENDED]):
            thread = f"t{n}"
            parked = (Set("parked", "0.10", b'{"n":1}'), Set("parked", "0.2", b'{"n":2}')) if status is SUSPENDED else ()
            await store.claim_and_commit(
                thread, "r", TTL, Commit(token=0, checkpoints=(draft(clock, 1, None, *parked, thread=thread, status=status),))
            )
            clock.advance(1)
        listed = await store.threads()
        assert [one.thread_id for one in listed] == ["t3", "t2", "t1", "t0"]
        assert [(one.status, one.graph_id) for one in listed] == [(s, "graph") for s in (SUSPENDED, RUNNING, SUSPENDED, COMPLETED)]
        assert listed[0].interrupts == ("0.10", "0.2")
        assert [(one.id, one.record) for one in listed[0].waiting] == [("0.10", b'{"n":1}'), ("0.2", b'{"n":2}')]
        assert (listed[1].interrupts, listed[1].waiting) == ((), ())
        assert [one.thread_id for one in await store.threads(status=SUSPENDED)] == ["t3", "t1"]
        assert await store.threads(status=FAILED) == []
        # a thread that goes on comes to the front and keeps the time it was created
        claim = (await store.head("t1")).claim
        assert claim is not None
        await store.commit("t1", Commit(token=claim.token, checkpoints=(draft(clock, 2, "", Unset("parked", "0.10"), thread="t1"),)))
        first = (await store.threads(limit=1))[0]
        assert (first.thread_id, first.status, first.interrupts) == ("t1", RUNNING, ("0.2",))
        assert (first.created_at, first.updated_at) == (start + timedelta(seconds=1), start + timedelta(seconds=4))

    async def test_lists_of_threads_are_paged_also_where_times_are_equal(self, store: Checkpointer, clock: ManualClock) -> None:
        """W8: starting behind thread `after`; an unknown one is ThreadNotFound."""
        for n in range(7):
            thread = f"t{n}"
            status = COMPLETED if n % 2 else RUNNING
            await store.claim_and_commit(
                thread, "r", TTL, Commit(token=0, checkpoints=(draft(clock, 1, None, thread=thread, status=status),))
            )
        everything = [one.thread_id for one in await store.threads()]
        assert sorted(everything) == [f"t{n}" for n in range(7)]
        paged: list[str] = []
        after: str | None = None
        while page := await store.threads(limit=3, after=after):
            paged.extend(one.thread_id for one in page)
            after = paged[-1]
        assert paged == everything
        running = [one.thread_id for one in await store.threads(status=RUNNING)]
        assert [one.thread_id for one in await store.threads(status=RUNNING, after=running[1])] == running[2:]
        with pytest.raises(ThreadNotFound) as caught:
            await store.threads(after="nobody")
        assert caught.value.thread_id == "nobody"

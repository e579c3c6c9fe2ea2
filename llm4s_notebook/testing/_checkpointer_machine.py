"""Random operations on a store and on plain dicts, with the same answers after each.

The dict side gives a patch its meaning with `apply_patch` and keeps every checkpoint whole; it is as simple as can be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ..checkpoint import (
    Append,
    CheckpointDraft,
    Checkpointer,
    CheckpointHeader,
    CheckpointStatus,
    Commit,
    Entries,
    EventDraft,
    EventRecord,
    PatchOp,
    PendingWrite,
    Replace,
    RetentionPolicy,
    Set,
    Truncate,
    Unset,
    apply_patch,
)
from ..checkpoint._event import Custom
from ..errors import CheckpointConflict, InvalidCommit, ReplayUnavailable, StaleClaim, ThreadBusy
from ._clock import ManualClock

_TTL = 30.0
_sections = st.sampled_from(["state", "task", "parked"])
_names = st.sampled_from(["a", "b"])
_values = st.integers(0, 9).map(lambda n: f"{n}".encode())
_places = st.integers(0, 4)
_ops = st.one_of(
    st.builds(Set, _sections, _names, _values),
    st.builds(Unset, _sections, _names),
    st.builds(Append, _sections, _names, st.lists(_values, max_size=3).map(tuple)),
    st.builds(Append, _sections, _names, st.lists(_values, min_size=1, max_size=3).map(tuple)),
    st.builds(Replace, _sections, _names, _places, _values),
    st.builds(Truncate, _sections, _names, _places),
)
_patches: st.SearchStrategy[list[PatchOp]] = st.lists(_ops, max_size=6)
_threads = st.sampled_from(["t", "t", "t", "u"])
_statuses = st.sampled_from(list(CheckpointStatus))


@dataclass
class _Kept:
    header: CheckpointHeader
    entries: Entries
    token: int
    first_event: int


@dataclass
class _Model:
    """One thread, whole at every checkpoint."""

    checkpoints: list[_Kept] = field(default_factory=list[_Kept])
    writes: list[PendingWrite] = field(default_factory=list[PendingWrite])
    events: list[EventRecord] = field(default_factory=list[EventRecord])
    next_event: int = 1
    floor: int = 1
    token: int | None = None
    expires: float = 0.0

    @property
    def latest_id(self) -> str | None:
        return self.checkpoints[-1].header.id if self.checkpoints else None

    def settled(self) -> int:
        """How many checkpoints there are up to the newest settled one."""
        return max((index + 1 for index, one in enumerate(self.checkpoints) if one.header.status.settled), default=0)

    def compact(self, before: int) -> None:
        self.floor = max(self.floor, min(before, self.next_event))
        self.events = [one for one in self.events if (one.sequence or 0) >= self.floor]


def _copied(entries: Entries) -> Entries:
    return {at: list(entry) if isinstance(entry, list) else entry for at, entry in entries.items()}


def _fitted(entries: Entries, op: PatchOp) -> PatchOp:
    """The operation, or the nearest one that fits; applied to `entries`."""
    entry = entries.get((op.section, op.name))
    items = entry if isinstance(entry, list) else []
    match op:
        case Append() if isinstance(entry, bytes):
            op = Set(op.section, op.name, b"0")
        case Replace() if items:
            op = Replace(op.section, op.name, op.index % len(items), op.item)
        case Truncate() if isinstance(entry, list):
            op = Truncate(op.section, op.name, min(op.length, len(items)))
        case Replace() | Truncate():
            op = Append(op.section, op.name, (b"0", b"1")) if entry is None else Unset(op.section, op.name)
        case _:
            pass
    apply_patch(entries, [op])
    return op


class CheckpointerMachine(RuleBasedStateMachine):
    """`make` gives an empty store on the clock it is handed; `reopen` gives the same data through a fresh one where that is possible."""

    def __init__(self, make: Callable[[ManualClock], Checkpointer]) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.runner = asyncio.Runner()
        self.store = self._run(self._made(make))
        self.models: dict[str, _Model] = {}
        self.last_token = 0
        self.count = 0

    async def _made(self, make: Callable[[ManualClock], Checkpointer]) -> Checkpointer:
        return make(self.clock)

    def _run(self, waiting: Any) -> Any:
        return self.runner.run(waiting)

    def _live(self, model: _Model) -> bool:
        return model.token is not None and model.expires > self.clock.now().timestamp()

    # -- claims ------------------------------------------------------------------------------------------------------

    @rule(
        thread=_threads, action=st.sampled_from(["claim", "renew", "release", "wait", "wrong"]), seconds=st.sampled_from([1.0, 20.0, 40.0])
    )
    def lease(self, thread: str, action: str, seconds: float) -> None:
        model = self.models.get(thread)
        match action:
            case "claim":
                self._claim(thread)
            case "wait":
                self.clock.advance(seconds)
            case "renew" if model and model.token:
                assert self._run(self.store.renew(thread, model.token, _TTL)).token == model.token
                model.expires = self.clock.now().timestamp() + _TTL
            case "release" if model and model.token:
                self._run(self.store.release(thread, model.token))
                model.token = None
            case _:
                with pytest.raises(StaleClaim):
                    self._run(self.store.renew(thread, 999_999, _TTL))
                self._run(self.store.release(thread, 999_999))

    def _claim(self, thread: str) -> None:
        model = self.models.get(thread, _Model())
        if self._live(model):
            with pytest.raises(ThreadBusy) as caught:
                self._run(self.store.claim(thread, "r", _TTL))
            assert caught.value.checkpoint_id == model.latest_id
            return
        self._granted(thread, model, self._run(self.store.claim(thread, "r", _TTL)).token)

    def _granted(self, thread: str, model: _Model, token: int) -> None:
        assert token > self.last_token
        self.last_token = token
        model.token = token
        model.expires = self.clock.now().timestamp() + _TTL
        self.models[thread] = model

    # -- commits -----------------------------------------------------------------------------------------------------

    @rule(thread=_threads, patch=_patches, status=_statuses, events=st.integers(0, 1))
    def step(self, thread: str, patch: list[PatchOp], status: CheckpointStatus, events: int) -> None:
        """One checkpoint, as every superstep makes it."""
        self._commit(thread, [(patch, status)], events=events)

    @rule(thread=_threads, patch=_patches, again=_patches)
    def two_steps(self, thread: str, patch: list[PatchOp], again: list[PatchOp]) -> None:
        """Two checkpoints of a turn that goes on, one commit each."""
        self._commit(thread, [(patch, CheckpointStatus.RUNNING)], writes=1)
        self._commit(thread, [(again, CheckpointStatus.RUNNING)])

    @rule(thread=_threads, patch=_patches, release=st.booleans())
    def block(self, thread: str, patch: list[PatchOp], release: bool) -> None:
        """A turn is retracted (R6.36)."""
        self._commit(thread, [(patch, CheckpointStatus.FAILED)], retract=True, release=release)

    @rule(
        thread=_threads,
        patches=st.lists(st.tuples(_patches, _statuses), max_size=2),
        writes=st.integers(0, 2),
        events=st.integers(0, 2),
        retract=st.booleans(),
        release=st.booleans(),
        wrong=st.sampled_from(["", "", "", "token", "parent", "id", "write", "patch", "unclaimed"]),
        claiming=st.booleans(),
    )
    def any_commit(
        self,
        thread: str,
        patches: list[tuple[list[PatchOp], CheckpointStatus]],
        writes: int,
        events: int,
        retract: bool,
        release: bool,
        wrong: str,
        claiming: bool,
    ) -> None:
        retract = retract and (bool(patches) or wrong == "patch")
        self._commit(thread, patches, writes=writes, events=events, retract=retract, release=release, wrong=wrong, claiming=claiming)

    def _commit(
        self,
        thread: str,
        patches: list[tuple[list[PatchOp], CheckpointStatus]],
        *,
        writes: int = 0,
        events: int = 0,
        retract: bool = False,
        release: bool = False,
        wrong: str = "",
        claiming: bool = False,
    ) -> None:
        """Commit to both, after taking or waiting out a claim unless `wrong` says not to; `wrong` names the fault put in."""
        model = self.models.get(thread, _Model())
        if wrong != "unclaimed" and claiming == self._live(model):
            if claiming:
                self.clock.advance(_TTL)
            else:
                self._claim(thread)
                model = self.models[thread]
        base = model.settled() if retract else len(model.checkpoints)
        parent = model.checkpoints[base - 1].header.id if base else None
        drafts: list[CheckpointDraft] = []
        expected: list[_Kept] = []
        entries = _copied(model.checkpoints[base - 1].entries) if base else {}
        refusal: type[Exception] | None = None
        top = parent if patches else model.latest_id
        for index, (patch, status) in enumerate(patches):
            self.count += 1
            run = f"r{self.count % 3}"
            made = CheckpointHeader(
                id=f"{run}/{self.count}",
                parent_id=top if wrong != "parent" or index else "nobody",
                thread_id=thread,
                run_id=run,
                status=status,
                created_at=self.clock.now(),
                graph_id="g",
                graph_version=str(self.count % 2),
                fingerprint="f",
                superstep=self.count,
            )
            if wrong == "id" and index == 0 and model.checkpoints:
                made = made._replace(id=model.checkpoints[0].header.id)
            top = made.id
            try:
                given = patch if wrong == "patch" else [_fitted(entries, op) for op in patch]
                drafts.append(CheckpointDraft(made, tuple(given)))
                if wrong == "patch":
                    apply_patch(entries, patch)
            except InvalidCommit:
                refusal = InvalidCommit
            expected.append(_Kept(made, _copied(entries), 0, model.next_event))
        named = "nobody" if wrong == "write" else top or "nobody"
        given_writes = tuple(PendingWrite(named, f"{index}.0", "n", b"{}") for index in range(writes))
        now = self.clock.now()
        given_events = tuple(EventDraft("r", Custom("note", 1, [self.count, index]), now) for index in range(events))
        if retract and not drafts:
            refusal = InvalidCommit
        if writes and named == "nobody":
            refusal = InvalidCommit
        if drafts and wrong == "id" and model.checkpoints:
            refusal = InvalidCommit
        if drafts and wrong == "parent":
            refusal = CheckpointConflict
        if claiming and self._live(model):
            refusal = ThreadBusy
        token = model.token or 0
        if not claiming and (wrong == "token" or model.token is None):
            refusal, token = StaleClaim, 999_999
        commit = Commit(token=token, checkpoints=tuple(drafts), writes=given_writes, events=given_events, retract=retract, release=release)
        call = self.store.claim_and_commit(thread, "r", _TTL, commit) if claiming else self.store.commit(thread, commit)
        if refusal is not None:
            with pytest.raises(refusal):
                self._run(call)
            return
        outcome = self._run(call)
        if claiming:
            self._granted(thread, model, outcome[0].token)
            outcome = outcome[1]
        assert [one.sequence for one in outcome] == list(range(model.next_event, model.next_event + events))
        if retract:
            del model.checkpoints[base:]
        for one in expected:
            one.token = model.token or 0
            model.checkpoints.append(one)
        if expected:
            model.writes = []
        model.writes.extend(given_writes)
        model.events.extend(one.numbered(thread, model.next_event + index) for index, one in enumerate(given_events))
        model.next_event += events
        if release:
            model.token = None
        self.models[thread] = model

    # -- keeping house -----------------------------------------------------------------------------------------------

    @rule(
        thread=_threads,
        action=st.sampled_from(["prune", "prune", "compact", "delete"]),
        count=st.none() | st.integers(0, 3),
        age=st.none() | st.sampled_from([0.0, 10.0, 50.0]),
        events=st.none() | st.integers(0, 3),
        before=st.integers(-1, 12),
    )
    def tend(self, thread: str, action: str, count: int | None, age: float | None, events: int | None, before: int) -> None:
        model = self.models.get(thread)
        match action:
            case "compact":
                floor = self._run(self.store.compact_events(thread, before))
                if model:
                    model.compact(before)
                    assert floor == model.floor
            case "delete":
                self._run(self.store.delete_thread(thread))
                self.models.pop(thread, None)
            case _:
                self._run(self.store.prune(thread, RetentionPolicy(max_age=age, max_checkpoints=count, max_events=events)))
                if model:
                    self._prune(model, count, age, events)

    def _prune(self, model: _Model, count: int | None, age: float | None, events: int | None) -> None:
        number, settled, now = len(model.checkpoints), model.settled(), self.clock.now()
        kept = [
            one
            for index, one in enumerate(model.checkpoints)
            if index in (number - 1, settled - 1)
            or ((count is None or index >= number - count) and (age is None or (now - one.header.created_at).total_seconds() <= age))
        ]
        if len(kept) < number:
            model.compact(kept[0].first_event)
        model.checkpoints = kept
        if events is not None:
            model.compact(model.next_event - events)

    # -- after every step --------------------------------------------------------------------------------------------

    @invariant()
    def reads_the_same(self) -> None:
        self._run(self._compare())

    async def _compare(self) -> None:
        for thread in ("t", "u"):
            model = self.models.get(thread, _Model())
            latest = await self.store.latest(thread)
            head = await self.store.head(thread)
            history = await self.store.history(thread, limit=100)
            assert [(one.header, list(one.entries.items()), one.token) for one in history] == [
                (one.header, _grouped(one.entries, got.entries), one.token)
                for one, got in zip(reversed(model.checkpoints), history, strict=True)
            ]
            if model.checkpoints:
                assert latest is not None
                assert latest.checkpoint == history[0]
                assert list(latest.writes) == model.writes
                assert await self.store.checkpoint(thread, model.checkpoints[0].header.id) == history[-1]
            else:
                assert latest is None
            assert head.checkpoint_id == model.latest_id
            assert head.write_count == len(model.writes)
            assert (head.claim.token if head.claim else None) == (model.token if self._live(model) else None)
            if model.floor > 1:
                with pytest.raises(ReplayUnavailable) as caught:
                    await self.store.events_after(thread, model.floor - 2)
                assert caught.value.earliest == model.floor
            assert await self.store.events_after(thread, model.floor - 1) == model.events
        listed = {one.thread_id: one for one in await self.store.threads()}
        assert set(listed) == {thread for thread, model in self.models.items() if model.checkpoints}
        for thread, summary in listed.items():
            newest = self.models[thread].checkpoints[-1]
            assert summary.status is newest.header.status
            assert list(summary.interrupts) == [
                name for (section, name), entry in newest.entries.items() if section == "parked" and isinstance(entry, bytes)
            ]

    def teardown(self) -> None:
        self._run(self.store.aclose())
        self.runner.close()


def _grouped(expected: Entries, got: Entries) -> list[tuple[tuple[str, str], bytes | list[bytes]]]:
    """The expected entries with sections in the order in which the store gives them: only the order inside a section is promised."""
    sections = dict.fromkeys(section for section, _ in got)
    if list(got) == list(expected):
        return list(expected.items())
    return [(at, entry) for section in sections for at, entry in expected.items() if at[0] == section]

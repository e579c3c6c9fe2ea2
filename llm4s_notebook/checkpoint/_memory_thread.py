"""One thread of the in-memory store: plain data and the changes made to it, no locks and no waiting."""

from __future__ import annotations

import json
from datetime import datetime
from math import isfinite
from typing import Any

from msgspec import Struct

from ..errors import CheckpointNotFound, InvalidCommit, ReplayUnavailable
from ._event import Custom, EventDraft, EventRecord
from ._patch import Entries, PatchOp, apply_patch
from ._rules import check_commit, check_format, oldest_kept
from ._types import (
    SETTLED,
    Checkpoint,
    CheckpointHeader,
    Claim,
    Commit,
    LatestCheckpoint,
    PendingWrite,
    RetentionPolicy,
    ThreadSummary,
    Waiting,
)
from ._value import Value

_LEAVES = {str, int, bool, type(None)}
_NAMES = {str}
_payload_text = json.JSONEncoder(allow_nan=False).encode


class _Stored(Value, frozen=True):
    """A checkpoint as kept: its change against the one before it. `first_event` is the number its commit's events began with."""

    header: CheckpointHeader
    patch: tuple[PatchOp, ...]
    token: int
    first_event: int


class MemoryThread(Struct, eq=False):
    """Everything one thread has. `live` are the latest entries; older ones are replayed from `root`, the entries before the oldest patch.

    A commit costs what it brings, whatever the thread's length.
    """

    thread_id: str
    claim: Claim | None = None
    settled: str | None = None
    created_at: datetime | None = None
    root: Entries = {}
    live: Entries = {}
    _checkpoints: dict[str, _Stored] = {}  # oldest first
    _latest: _Stored | None = None
    _writes: list[PendingWrite] = []
    _events: list[EventDraft] = []  # from number _floor; a custom payload is a copy (R6.2)
    _next_event: int = 1
    _floor: int = 1  # the smallest event number still there, or the next one

    @property
    def latest_header(self) -> CheckpointHeader | None:
        return self._latest.header if self._latest else None

    @property
    def latest_id(self) -> str | None:
        return self._latest.header.id if self._latest else None

    @property
    def latest_token(self) -> int | None:
        return self._latest.token if self._latest else None

    @property
    def empty(self) -> bool:
        """True while it never held anything but a claim."""
        return self._latest is None and self._next_event == 1 and not self._writes

    @property
    def write_count(self) -> int:
        return len(self._writes)

    # -- changing ----------------------------------------------------------------------------------------------------

    def commit(self, commit: Commit, token: int) -> int:
        """Check all of it, then apply all of it; the number of its first event. Raises: CheckpointConflict, InvalidCommit."""
        latest, under = (self._latest.header.id, self._latest.token) if self._latest else (None, None)
        check_commit(self.thread_id, commit, latest=latest, settled=self.settled, latest_token=under, known=self._checkpoints.__contains__)
        base = self._entries_at(self.settled) if commit.retract else self.live
        stored = [self._kept(draft) if type(draft.event) is Custom else draft for draft in commit.events]

        try:
            for draft in commit.checkpoints:
                apply_patch(base, draft.patch)
        except BaseException as error:
            self.live = self._entries_at(self.latest_id)  # as it was: a part of the patches may have been applied
            if isinstance(error, InvalidCommit):
                raise InvalidCommit(reason=error.reason, thread_id=self.thread_id) from None
            raise

        if commit.retract:
            self._drop_turn()
            self.live = base
        if commit.checkpoints:
            self._writes = []
        first = self._next_event
        for draft in commit.checkpoints:
            header = draft.header
            self._latest = self._checkpoints[header.id] = _Stored(header, draft.patch, token, first)
            if header.status in SETTLED:
                self.settled = header.id
            if self.created_at is None:
                self.created_at = header.created_at
        self._writes += commit.writes
        self._events += stored
        self._next_event = first + len(stored)
        return first

    def _kept(self, draft: EventDraft) -> EventDraft:
        """A custom event as stored, nobody's object in it; all others are immutable."""
        event = draft.event
        if not isinstance(event, Custom):
            return draft
        try:
            payload = _own(event.payload)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidCommit(reason=f"the payload of event '{event.name}' is not JSON: {error}", thread_id=self.thread_id) from error
        kept = Custom(event.name, event.version, payload)
        return EventDraft(draft.run_id, kept, draft.timestamp, draft.checkpoint_id, draft.task_id, draft.node_id)

    def _drop_turn(self) -> None:
        """Take every checkpoint after the newest settled one out of the history (R6.36)."""
        for checkpoint_id in reversed(list(self._checkpoints)):
            if checkpoint_id == self.settled:
                return
            del self._checkpoints[checkpoint_id]
        self.root = {}

    def compact(self, before: int) -> int:
        """Drop events numbered below `before`; the floor never falls, and never rises above the next number (R6.15)."""
        floor = max(self._floor, min(before, self._next_event))
        del self._events[: floor - self._floor]
        self._floor = floor
        return floor

    def prune(self, policy: RetentionPolicy, now: datetime) -> None:
        """Keep the latest checkpoint, the newest settled one (the base of a retraction), and what the policy keeps (R6.37)."""
        stored = list(self._checkpoints.values())
        newest = len(stored) - (policy.max_checkpoints if policy.max_checkpoints is not None else len(stored))
        oldest_time = oldest_kept(policy, now)
        kept: dict[str, _Stored] = {}
        root: Entries = {}
        pending: list[PatchOp] = []
        for index, one in enumerate(stored):
            young = oldest_time is None or one.header.created_at >= oldest_time
            if one is self._latest or one.header.id == self.settled or (index >= newest and young):
                if not kept:
                    root = self._copied(self.root)
                    apply_patch(root, pending)
                    pending = []
                kept[one.header.id] = one.replaced(patch=(*pending, *one.patch))
                pending = []
            else:
                pending.extend(one.patch)
        self.root, self._checkpoints = root, kept
        if self._latest:
            self._latest = kept[self._latest.header.id]
        if len(kept) < len(stored):
            self.compact(next(iter(kept.values())).first_event)
        if policy.max_events is not None:
            self.compact(self._next_event - policy.max_events)

    # -- reading -----------------------------------------------------------------------------------------------------

    def latest(self) -> LatestCheckpoint | None:
        if self._latest is None:
            return None
        check_format(self._latest.header.format)
        checkpoint = Checkpoint(self._latest.header, self._copied(self.live), self._latest.token)
        return LatestCheckpoint(checkpoint, tuple(self._writes))

    def history(self, before: str | None, limit: int) -> list[Checkpoint]:
        ids = list(self._checkpoints)
        end = len(ids)
        if before is not None:
            if before not in self._checkpoints:
                raise CheckpointNotFound(thread_id=self.thread_id, checkpoint_id=before)
            end = ids.index(before)
        return self._replayed(set(ids[max(0, end - limit) : end]))[::-1]

    def checkpoint(self, checkpoint_id: str) -> Checkpoint | None:
        return self._replayed({checkpoint_id})[0] if checkpoint_id in self._checkpoints else None

    def events_after(self, sequence: int, limit: int) -> list[EventRecord]:
        if sequence + 1 < self._floor:
            raise ReplayUnavailable(earliest=self._floor)
        start = sequence + 1 - self._floor
        found = self._events[start : start + limit]
        return [_read(draft).numbered(self.thread_id, self._floor + start + index) for index, draft in enumerate(found)]

    def summary(self) -> ThreadSummary | None:
        """None for a thread that is only claimed."""
        if self._latest is None or self.created_at is None:
            return None
        header = self._latest.header
        waiting = tuple(
            Waiting(name, value) for (section, name), value in self.live.items() if section == "parked" and isinstance(value, bytes)
        )
        return ThreadSummary(
            thread_id=self.thread_id,
            graph_id=header.graph_id,
            status=header.status,
            interrupts=tuple(one.id for one in waiting),
            created_at=self.created_at,
            updated_at=header.created_at,
            waiting=waiting,
        )

    def _replayed(self, wanted: set[str]) -> list[Checkpoint]:
        """The wanted checkpoints, oldest first, with entries of their own."""
        entries = self._copied(self.root)
        found: list[Checkpoint] = []
        for checkpoint_id, stored in self._checkpoints.items():
            apply_patch(entries, stored.patch)
            if checkpoint_id in wanted:
                check_format(stored.header.format)
                found.append(Checkpoint(stored.header, self._copied(entries), stored.token))
                if len(found) == len(wanted):
                    break
        return found

    def _entries_at(self, checkpoint_id: str | None) -> Entries:
        return self._replayed({checkpoint_id})[0].entries if checkpoint_id is not None else {}

    @staticmethod
    def _copied(entries: Entries) -> Entries:
        return {at: list(entry) if isinstance(entry, list) else entry for at, entry in entries.items()}


def _read(draft: EventDraft) -> EventDraft:
    event = draft.event
    return draft.replaced(event=event.replaced(payload=_own(event.payload))) if isinstance(event, Custom) else draft


def _own(value: Any) -> Any:
    """A copy of a JSON value in which nothing is anybody else's. Raises: TypeError, ValueError for what is no JSON; RecursionError."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]  # of anything
    if kind in _LEAVES or (kind is float and isfinite(value)):
        return value
    if kind is dict and {*map(type, value)} <= _NAMES:
        return {name: one if type(one) in _LEAVES else _own(one) for name, one in value.items()}
    if kind is list:
        return [_own(one) for one in value]
    return json.loads(_payload_text(value))  # whatever else has a JSON form

"""Claims and commits as statements inside the writer's transaction; a raise leaves undoing to the writer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from ...errors import InvalidCommit, StaleClaim, ThreadBusy
from .._clock import to_microseconds
from .._event import EventDraft, EventRecord
from .._patch import PatchOp
from .._rules import check_claimed, check_commit
from .._shape import MISSING, VALUE, Shape, plan
from .._types import CheckpointDraft, Claim, Commit
from ._event_json import to_json
from ._process import ProcessMark
from ._retain import drop_turn, drop_writes
from ._schema import ALIVE, LIST_HEAD, VALUE_HEAD
from ._thread_row import ThreadRow

_NEXT_TOKEN = "UPDATE llm4s_meta SET last_token = last_token + 1 WHERE id = 1 RETURNING last_token"
_KNOWN = "SELECT 1 FROM llm4s_checkpoint WHERE thread = ? AND checkpoint_id = ?"
_SHAPE = f"SELECT max(position) FROM llm4s_row WHERE thread = ? AND section = ? AND name = ? AND died = {ALIVE}"
_CLOSE = f"UPDATE llm4s_row SET died = ? WHERE thread = ? AND section = ? AND name = ? AND died = {ALIVE}"
_CLOSE_ITEM = f"{_CLOSE} AND position = ?"
_CLOSE_TAIL = f"{_CLOSE} AND position >= ?"
_ROW = f"INSERT INTO llm4s_row (thread, born, died, section, name, position, value) VALUES (?, ?, {ALIVE}, ?, ?, ?, ?)"
_CHECKPOINT = f"""INSERT INTO llm4s_checkpoint (thread, seq, checkpoint_id, parent_id, run_id, status, created_at, graph_id,
    graph_version, fingerprint, superstep, format, token, first_event, body, journal) VALUES ({", ".join("?" * 16)})"""
_WRITE = "INSERT INTO llm4s_write (thread, task_id, node_id, body) VALUES (?, ?, ?, ?)"
_EVENT = "INSERT INTO llm4s_event (thread, first, last, data) VALUES (?, ?, ?, ?)"
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


# -- claims ----------------------------------------------------------------------------------------------------------


def claim(
    connection: sqlite3.Connection, thread_id: str, holder: str, now: datetime, ttl: float, mark: ProcessMark | None, commit: Commit | None
) -> tuple[Claim, tuple[EventRecord, ...]]:
    """Grant a lease, and commit under it where a commit is given (R6.6, R6.23). Raises: ThreadBusy, CheckpointConflict, InvalidCommit."""
    row = ThreadRow.load(connection, thread_id) or ThreadRow(thread_id)
    held = row.live_claim(now)
    if held is not None:
        raise ThreadBusy(thread_id=thread_id, checkpoint_id=row.checkpoint_id, holder=held.holder)
    token: int = connection.execute(_NEXT_TOKEN).fetchone()[0]
    granted = Claim(token, holder, now + timedelta(seconds=ttl))
    row.take(granted, mark)
    if commit is None:
        row.save(connection)
        return granted, ()
    return granted, _apply(connection, row, commit, token)


def renew(connection: sqlite3.Connection, thread_id: str, token: int, now: datetime, ttl: float) -> Claim:
    """Extend the lease (R6.7). Raises: StaleClaim."""
    row = ThreadRow.load(connection, thread_id)
    check_claimed(thread_id, token, row.token if row else None)
    current = row.claim() if row else None
    if row is None or current is None:
        raise StaleClaim(token=token, current=None, thread_id=thread_id)
    renewed = Claim(token, current.holder, now + timedelta(seconds=ttl))
    connection.execute("UPDATE llm4s_thread SET expires_at = ? WHERE id = ?", (to_microseconds(renewed.expires_at), row.key))
    return renewed


def release(connection: sqlite3.Connection, thread_id: str, token: int) -> None:
    """Free the thread; a wrong token is nothing (R6.8). A thread that never had a checkpoint leaves no row."""
    row = ThreadRow.load(connection, thread_id)
    if row is None or row.token != token:
        return
    if row.checkpoint_id is None and row.next_event == 1:
        connection.execute("DELETE FROM llm4s_thread WHERE id = ?", (row.key,))
        return
    row.free()
    row.save(connection)


# -- commits ---------------------------------------------------------------------------------------------------------


def commit(connection: sqlite3.Connection, thread_id: str, given: Commit) -> tuple[EventRecord, ...]:
    """Raises: StaleClaim, CheckpointConflict, InvalidCommit, in this order (R6.19)."""
    row = ThreadRow.load(connection, thread_id)
    check_claimed(thread_id, given.token, row.token if row else None)
    if row is None:  # check_claimed has raised
        raise StaleClaim(token=given.token, current=None, thread_id=thread_id)
    return _apply(connection, row, given, given.token)


def _apply(connection: sqlite3.Connection, row: ThreadRow, given: Commit, token: int) -> tuple[EventRecord, ...]:
    key = row.key

    def known(checkpoint_id: str) -> bool:
        return key is not None and connection.execute(_KNOWN, (key, checkpoint_id)).fetchone() is not None

    check_commit(row.thread_id, given, latest=row.checkpoint_id, settled=row.settled_id, known=known)
    if key is None:
        key = row.save(connection)
    seq = row.next_seq
    if given.retract:
        drop_turn(connection, key, row.settled_seq)
    if given.checkpoints and row.writes:
        drop_writes(connection, key)
        row.writes = 0
    try:
        for draft in given.checkpoints:
            _entries(connection, key, seq, draft.patch)
            _header(connection, row, key, seq, draft, token)
            seq += 1
    except InvalidCommit as error:
        raise InvalidCommit(reason=error.reason, thread_id=row.thread_id) from None
    if given.writes:
        connection.executemany(_WRITE, [(key, write.task_id, write.node_id, write.body) for write in given.writes])
        row.writes += len(given.writes)
    records = _events(connection, row, key, given.events) if given.events else ()
    if given.release:
        row.free()
    row.save(connection)
    return records


def _header(connection: sqlite3.Connection, row: ThreadRow, key: int, seq: int, draft: CheckpointDraft, token: int) -> None:
    header = draft.header
    created_at = to_microseconds(header.created_at)
    connection.execute(
        _CHECKPOINT,
        (
            key, seq, header.id, header.parent_id, header.run_id, header.status.value, created_at, header.graph_id, header.graph_version,
            header.fingerprint, header.superstep, header.format, token, row.next_event, header.body, header.journal,
        ),
    )  # fmt: skip
    row.seq, row.checkpoint_id = seq, header.id
    row.graph_id, row.status, row.updated_at = header.graph_id, header.status.value, created_at
    if row.created_at is None:
        row.created_at = created_at
    if header.status.settled:
        row.settled_seq, row.settled_id = seq, header.id


def _entries(connection: sqlite3.Connection, key: int, seq: int, patch: Iterable[PatchOp]) -> None:
    """Write the patch as rows: what it ends dies at `seq`, what it brings is born there."""

    def shape_of(section: str, name: str) -> Shape:
        top: int | None = connection.execute(_SHAPE, (key, section, name)).fetchone()[0]
        if top is None:
            return MISSING
        return VALUE if top == VALUE_HEAD else top + 1

    closed: list[tuple[int, int, str, str]] = []
    closed_items: list[tuple[int, int, str, str, int]] = []
    closed_tails: list[tuple[int, int, str, str, int]] = []
    born: list[tuple[int, int, str, str, int, bytes | None]] = []
    for (section, name), change in plan(patch, shape_of).items():
        if change.whole:
            closed.append((seq, key, section, name))
            if change.value is not None:
                born.append((key, seq, section, name, VALUE_HEAD, change.value))
            elif change.items is not None:
                born.append((key, seq, section, name, LIST_HEAD, None))
        else:
            if change.base is not None and change.kept < change.base:
                closed_tails.append((seq, key, section, name, change.kept))
            for position, item in change.replaced.items():
                closed_items.append((seq, key, section, name, position))
                born.append((key, seq, section, name, position, item))
        if change.items:
            born.extend((key, seq, section, name, change.kept + index, item) for index, item in enumerate(change.items))
    if closed:
        connection.executemany(_CLOSE, closed)
    if closed_items:
        connection.executemany(_CLOSE_ITEM, closed_items)
    if closed_tails:
        connection.executemany(_CLOSE_TAIL, closed_tails)
    if born:
        connection.executemany(_ROW, born)


def _events(connection: sqlite3.Connection, row: ThreadRow, key: int, drafts: Sequence[EventDraft]) -> tuple[EventRecord, ...]:
    """Number the events inside the commit, one behind the other (R6.21)."""
    first = row.next_event
    row.next_event += len(drafts)
    try:
        data = _encode([to_json(draft) for draft in drafts])
    except (TypeError, ValueError) as error:
        raise InvalidCommit(reason=f"the payload of an event is not JSON: {error}", thread_id=row.thread_id) from error
    connection.execute(_EVENT, (key, first, row.next_event - 1, data))
    return tuple(draft.numbered(row.thread_id, first + index) for index, draft in enumerate(drafts))

"""Claims and commits as statements inside the writer's transaction; a raise leaves undoing to the writer."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from typing import NamedTuple

from ...errors import CheckpointConflict, InvalidCommit, StaleClaim, ThreadBusy
from .._clock import to_microseconds
from .._rules import check_claimed
from .._types import Claim, Commit
from ._commit import apply
from ._thread_row import Lease, ThreadRow
from ._trouble import Damage

_USUAL_TOKEN = "UPDATE llm4s_meta SET last_token = ? WHERE id = 1 AND last_token = ?"
_NEXT_TOKEN = "UPDATE llm4s_meta SET last_token = last_token + 1 WHERE id = 1 RETURNING last_token"
_CLAIM = "UPDATE llm4s_thread SET token = ?, holder = ?, expires_at = ?, process = ? WHERE id = ?"
_RENEW = "UPDATE llm4s_thread SET expires_at = ? WHERE id = ?"
_FREE = "UPDATE llm4s_thread SET token = NULL, holder = NULL, expires_at = NULL, process = NULL WHERE id = ?"
_END = "DELETE FROM llm4s_thread WHERE id = ?"


class Wanted(NamedTuple):
    """A lease as it is asked for, at time `now`. `last_token`: what this store granted last, most likely the last one of all."""

    holder: str
    now: datetime
    ttl: float
    process: str | None
    last_token: int


def claim(
    connection: sqlite3.Connection, known: ThreadRow | None, thread_id: str, wanted: Wanted, given: Commit | None
) -> tuple[Claim, ThreadRow, int]:
    """Grant a lease, and commit under it where a commit is given (R6.6, R6.23); returns the thread and its first new event's number.

    `known` is the thread as this store left it when it freed it, and is used as in `commit`.

    Raises: ThreadBusy, CheckpointConflict, InvalidCommit.
    """
    if known is not None and known.token is None and given is not None and not given.retract:
        granted, lease = _grant(connection, wanted)
        first = known.next_event
        if _applied(connection, known, given, lease):
            return granted, known, first
    row = ThreadRow.load(connection, thread_id) or ThreadRow(thread_id)
    held = row.live_claim(wanted.now)
    if held is not None:
        raise ThreadBusy(thread_id=thread_id, checkpoint_id=row.checkpoint_id, holder=held.holder)
    granted, lease = _grant(connection, wanted)
    if granted.token <= max(row.key, row.token or 0, row.latest_token or 0):
        raise Damage(f"thread '{thread_id}' has a fencing token that was never issued")
    first = row.next_event
    if not row.key:
        row.begin(connection, lease)
    elif given is None:
        row.take(lease)
        connection.execute(_CLAIM, (*lease, row.key))
    if given is not None:
        apply(connection, row, given, lease)
    return granted, row, first


def _applied(connection: sqlite3.Connection, known: ThreadRow, given: Commit, lease: Lease | None = None) -> bool:
    """Apply it to the thread as it was known; False, and nothing of the thread is changed, if that is not what there is now."""
    try:
        return apply(connection, known, given, lease)
    except (CheckpointConflict, InvalidCommit, Damage):  # perhaps for that reason: it is asked again of what there is now
        return False


def _grant(connection: sqlite3.Connection, wanted: Wanted) -> tuple[Claim, Lease]:
    token = wanted.last_token + 1
    if not connection.execute(_USUAL_TOKEN, (token, wanted.last_token)).rowcount:
        last = connection.execute(_NEXT_TOKEN).fetchone()
        if last is None or not isinstance(last[0], int):
            raise Damage("the last fencing token of the file is missing")
        token = last[0]
    granted = Claim(token, wanted.holder, wanted.now + timedelta(seconds=wanted.ttl))
    return granted, (token, wanted.holder, to_microseconds(granted.expires_at), wanted.process)


def renew(connection: sqlite3.Connection, thread_id: str, token: int, now: datetime, ttl: float) -> Claim:
    """Extend the lease (R6.7). Raises: StaleClaim."""
    row = ThreadRow.load(connection, thread_id)
    check_claimed(thread_id, token, row.token if row else None)
    current = row.claim() if row else None
    if row is None or current is None:
        raise StaleClaim(token=token, current=None, thread_id=thread_id)
    renewed = Claim(token, current.holder, now + timedelta(seconds=ttl))
    connection.execute(_RENEW, (to_microseconds(renewed.expires_at), row.key))
    return renewed


def release(connection: sqlite3.Connection, thread_id: str, token: int) -> bool:
    """Free the thread; a wrong token is nothing, and False (R6.8). A thread that never had a checkpoint leaves no row."""
    row = ThreadRow.load(connection, thread_id)
    if row is None or row.token != token:
        return False
    never_used = row.latest is None and row.next_event == 1
    connection.execute(_END if never_used else _FREE, (row.key,))
    return True


def commit(connection: sqlite3.Connection, known: ThreadRow | None, thread_id: str, given: Commit) -> tuple[ThreadRow, int]:
    """Apply it; returns the thread as it is then, and the number of the first event.

    `known` is the thread as this store's last commit under the same token left it. It is used only if the row in the file says
    that nothing came between, and never to refuse.

    Raises: StaleClaim, CheckpointConflict, InvalidCommit, in this order (R6.19).
    """
    if known is not None and known.token == given.token and not given.retract:
        first = known.next_event
        if _applied(connection, known, given):
            return known, first
    row = ThreadRow.load(connection, thread_id)
    check_claimed(thread_id, given.token, row.token if row else None)
    if row is None:  # check_claimed has raised
        raise StaleClaim(token=given.token, current=None, thread_id=thread_id)
    first = row.next_event
    apply(connection, row, given)
    return row, first

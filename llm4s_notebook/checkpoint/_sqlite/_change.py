"""Claims and commits as statements inside the writer's transaction; a raise leaves undoing to the writer."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from ...errors import CheckpointConflict, InvalidCommit, StaleClaim, ThreadBusy
from .._clock import to_microseconds
from .._rules import check_claimed
from .._types import Claim, Commit
from ._commit import apply
from ._process import ProcessMark
from ._thread_row import ThreadRow

_NEXT_TOKEN = "UPDATE llm4s_meta SET last_token = last_token + 1 WHERE id = 1 RETURNING last_token"
_RENEW = "UPDATE llm4s_thread SET expires_at = ? WHERE id = ?"
_FREE = "UPDATE llm4s_thread SET token = NULL, holder = NULL, expires_at = NULL, process = NULL WHERE id = ?"
_END = "DELETE FROM llm4s_thread WHERE id = ?"


def claim(
    connection: sqlite3.Connection, thread_id: str, holder: str, now: datetime, ttl: float, mark: ProcessMark | None, given: Commit | None
) -> tuple[Claim, ThreadRow, int]:
    """Grant a lease, and commit under it where a commit is given (R6.6, R6.23); returns the thread and its first new event's number.

    Raises: ThreadBusy, CheckpointConflict, InvalidCommit.
    """
    row = ThreadRow.load(connection, thread_id) or ThreadRow(thread_id)
    held = row.live_claim(now)
    if held is not None:
        raise ThreadBusy(thread_id=thread_id, checkpoint_id=row.checkpoint_id, holder=held.holder)
    token: int = connection.execute(_NEXT_TOKEN).fetchone()[0]
    granted = Claim(token, holder, now + timedelta(seconds=ttl))
    row.take(connection, granted, mark)
    first = row.next_event
    if given is not None:
        apply(connection, row, given)
    return granted, row, first


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

    `known` is the thread as this store's last commit under the same token left it. It is used only while the row in the file
    says that nothing came between, and never to refuse.

    Raises: StaleClaim, CheckpointConflict, InvalidCommit, in this order (R6.19).
    """
    if known is not None and known.token == given.token and not given.retract:
        first = known.next_event
        try:
            if apply(connection, known, given):
                return known, first
        except (CheckpointConflict, InvalidCommit):  # before anything was written
            pass
    row = ThreadRow.load(connection, thread_id)
    check_claimed(thread_id, given.token, row.token if row else None)
    if row is None:  # check_claimed has raised
        raise StaleClaim(token=given.token, current=None, thread_id=thread_id)
    first = row.next_event
    apply(connection, row, given)
    return row, first

"""What takes things out of a file: a retracted turn, dropped writes, retention, deletion.

Removed text must not stay anywhere (R6.36, D17). Deleting a row would make SQLite merge pages, which leaves copies of
*other* rows behind in unused space, beyond reach when their turn comes to go. So rows that carry text are only emptied
in place - an update that shrinks a row moves nothing - and belong to thread VOID from then on. Once enough is void, the
file is rebuilt from what lives (`reclaim`).
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta
from typing import Final

from .._clock import to_microseconds
from .._types import RetentionPolicy
from ._schema import ALIVE
from ._thread_row import ThreadRow

VOID: Final = 0
_LEAST_VOID: Final = 1 << 20  # bytes; below, rebuilding a file is not worth it

_VOID_ROWS = f"UPDATE llm4s_row SET thread = {VOID}, died = NULL, section = '', name = '', value = NULL WHERE"
_VOID_CHECKPOINTS = f"UPDATE llm4s_checkpoint SET thread = {VOID}, checkpoint_id = '', parent_id = NULL, body = x'', journal = x'' WHERE"
_VOID_WRITES = f"UPDATE llm4s_write SET thread = {VOID}, task_id = '', node_id = '', body = x'' WHERE"
_VOID_EVENTS = f"UPDATE llm4s_event SET thread = {VOID}, data = '' WHERE"


def drop_writes(connection: sqlite3.Connection, key: int) -> None:
    """Drop the pending writes (R6.20)."""
    size: int = connection.execute("SELECT total(length(body)) FROM llm4s_write WHERE thread = ?", (key,)).fetchone()[0]
    connection.execute(f"{_VOID_WRITES} thread = ?", (key,))
    if connection.execute(f"SELECT 1 FROM llm4s_write WHERE thread > {VOID} LIMIT 1").fetchone() is None:
        connection.execute("DELETE FROM llm4s_write")  # all of them: whole pages are blanked and freed, none is merged
    else:
        _count_void(connection, size)


def drop_turn(connection: sqlite3.Connection, key: int, settled: int | None) -> None:
    """Take everything after sequence number `settled` out: checkpoints go, rows born later go, rows closed later live again (R6.36)."""
    base = settled if settled is not None else 0
    for which in (f"died = {ALIVE}", f"died < {ALIVE} AND died > :base"):
        _drop_rows(connection, f"thread = :key AND {which} AND born > :base", {"key": key, "base": base})
    connection.execute(f"UPDATE llm4s_row SET died = {ALIVE} WHERE thread = ? AND died < {ALIVE} AND died > ?", (key, base))
    _drop_checkpoints(connection, "thread = :key AND seq > :base", {"key": key, "base": base})


def delete(connection: sqlite3.Connection, key: int) -> None:
    """Remove everything of the thread (R6.17)."""
    drop_writes(connection, key)
    for which in (f"died = {ALIVE}", f"died < {ALIVE}"):
        _drop_rows(connection, f"thread = :key AND {which}", {"key": key})
    _drop_checkpoints(connection, "thread = :key", {"key": key})
    _drop_events(connection, key, None)
    connection.execute("DELETE FROM llm4s_thread WHERE id = ?", (key,))


def compact(connection: sqlite3.Connection, row: ThreadRow, before: int) -> int:
    """Drop events numbered below `before`; the floor never falls, and never rises above the next number (R6.15)."""
    floor = max(row.floor, min(before, row.next_event))
    if floor > row.floor and row.key is not None:
        _drop_events(connection, row.key, floor)
        row.floor = floor
        row.save(connection)
    return floor


def prune(connection: sqlite3.Connection, row: ThreadRow, policy: RetentionPolicy, now: datetime) -> None:
    """Keep the latest checkpoint, the newest settled one (the base of a retraction), and what the policy keeps (R6.37, D17)."""
    stored: list[tuple[int, int, int]] = connection.execute(
        "SELECT seq, created_at, first_event FROM llm4s_checkpoint WHERE thread = ? ORDER BY seq DESC", (row.key,)
    ).fetchall()
    oldest_time = to_microseconds(now - timedelta(seconds=policy.max_age)) if policy.max_age is not None else None
    kept: list[tuple[int, int]] = []
    dropped: list[int] = []
    for index, (seq, created_at, first_event) in enumerate(stored):
        wanted = (policy.max_checkpoints is None or index < policy.max_checkpoints) and (oldest_time is None or created_at >= oldest_time)
        if wanted or seq in (row.seq, row.settled_seq):
            kept.append((seq, first_event))
        else:
            dropped.append(seq)
    if dropped and row.key is not None:
        for seq in dropped:
            _drop_checkpoints(connection, "thread = :key AND seq = :seq", {"key": row.key, "seq": seq})
        _drop_unseen(connection, row.key, sorted(seq for seq, _ in kept))
        compact(connection, row, kept[-1][1])
    if policy.max_events is not None:
        compact(connection, row, row.next_event - policy.max_events)


def reclaim(connection: sqlite3.Connection) -> bool:
    """Rebuild the file if a quarter of it is void; outside a transaction. True when it was rebuilt."""
    void: int = connection.execute("SELECT void_bytes FROM llm4s_meta").fetchone()[0]
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    page: int = connection.execute("PRAGMA page_size").fetchone()[0]
    if void < _LEAST_VOID or void * 4 < pages * page:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table in ("llm4s_row", "llm4s_checkpoint", "llm4s_write", "llm4s_event"):
            connection.execute(f"DELETE FROM {table} WHERE thread = {VOID}")
        connection.execute("UPDATE llm4s_meta SET void_bytes = 0")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("VACUUM")
    return True


def _drop_unseen(connection: sqlite3.Connection, key: int, kept: list[int]) -> None:
    """Drop the dead rows that no kept checkpoint sees: born after one of them and dead by the next."""
    lower = 0
    for upper in kept:
        if upper - lower > 1:
            unseen = f"thread = :key AND died < {ALIVE} AND died > :lower AND died <= :upper AND born > :lower"
            _drop_rows(connection, unseen, {"key": key, "lower": lower, "upper": upper})
        lower = upper


def _drop_rows(connection: sqlite3.Connection, condition: str, given: dict[str, int]) -> None:
    size = connection.execute(f"SELECT total(length(value)) FROM llm4s_row WHERE {condition}", given).fetchone()[0]
    connection.execute(f"{_VOID_ROWS} {condition}", given)
    _count_void(connection, size)


def _drop_checkpoints(connection: sqlite3.Connection, condition: str, given: dict[str, int]) -> None:
    chosen = f"id IN (SELECT id FROM llm4s_checkpoint INDEXED BY llm4s_checkpoint_by_id WHERE {condition})"
    size = connection.execute(f"SELECT total(length(body) + length(journal)) FROM llm4s_checkpoint WHERE {chosen}", given).fetchone()[0]
    connection.execute(f"{_VOID_CHECKPOINTS} {chosen}", given)
    _count_void(connection, size)


def _drop_events(connection: sqlite3.Connection, key: int, below: int | None) -> None:
    """Drop whole commits' events; of a commit that reaches over `below` the floor hides the rest until it goes as well."""
    condition = "thread = :key" if below is None else "thread = :key AND last < :below"
    given = {"key": key, "below": below}
    size = connection.execute(f"SELECT total(length(data)) FROM llm4s_event WHERE {condition}", given).fetchone()[0]
    connection.execute(f"{_VOID_EVENTS} {condition}", given)
    _count_void(connection, size)


def _count_void(connection: sqlite3.Connection, size: float) -> None:
    if size:
        connection.execute("UPDATE llm4s_meta SET void_bytes = void_bytes + ?", (int(size),))

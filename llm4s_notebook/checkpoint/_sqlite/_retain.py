"""What takes things out of a file: a retracted turn, dropped writes, retention, deletion.

Removed text must not stay anywhere (R6.36, D17). Deleting a row would make SQLite merge pages, which leaves copies of
*other* rows behind in unused space, beyond reach when their turn comes to go. So rows that carry text are only emptied
in place - an update that shrinks a row moves nothing - and are void from then on. Once enough is void, the file is rebuilt from
what lives (`reclaim`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from .._clock import to_microseconds
from .._rules import oldest_kept
from .._types import RetentionPolicy
from ._copies import parts
from ._schema import ALIVE, FIRST_SEQ, PARKED
from ._thread_row import ThreadRow

_NOBODY: Final = 0  # the thread of a pending write that is void
_LEAST_VOID: Final = 1 << 20  # bytes; below, rebuilding a file is not worth it

_VOID_ROWS = "UPDATE llm4s_row SET died = NULL, section = '', name = '', source = NULL, start = NULL, size = NULL, value = NULL WHERE"
_VOID_PARKED = "UPDATE llm4s_parked SET value = NULL WHERE"
_VOID_CHECKPOINTS = """UPDATE llm4s_checkpoint SET name = NULL, parent_name = NULL, status = NULL, body = x'', small = x'', refs = NULL,
    journal = x'' WHERE"""
_VOID_WRITES = f"UPDATE llm4s_write SET thread = {_NOBODY}, task_id = '', node_id = '', body = x'' WHERE"
_VOID_EVENTS = "UPDATE llm4s_checkpoint SET events = NULL WHERE"
_VOID_EVENTS_ALONE = "UPDATE llm4s_event SET first = NULL, data = '' WHERE"
_VOID = (
    ("llm4s_row", "died IS NULL"),
    ("llm4s_parked", "value IS NULL"),
    ("llm4s_checkpoint", "status IS NULL AND events IS NULL"),
    ("llm4s_write", f"thread = {_NOBODY}"),
    ("llm4s_event", "first IS NULL"),
)


def drop_writes(connection: sqlite3.Connection, key: int) -> None:
    """Drop the pending writes (R6.20)."""
    size: int = connection.execute("SELECT total(length(body)) FROM llm4s_write WHERE thread = ?", (key,)).fetchone()[0]
    connection.execute(f"{_VOID_WRITES} thread = ?", (key,))
    if connection.execute(f"SELECT 1 FROM llm4s_write WHERE thread > {_NOBODY} LIMIT 1").fetchone() is None:
        connection.execute("DELETE FROM llm4s_write")  # all of them: whole pages are blanked and freed, none is merged
    else:
        _count_void(connection, size)


def drop_turn(connection: sqlite3.Connection, key: int, settled: int) -> int:
    """Take everything after checkpoint number `settled` out: checkpoints go, rows born later go, rows closed later live again (R6.36).

    Returns how many rows live.
    """
    base = FIRST_SEQ + settled
    _drop_rows(connection, "thread = :key AND died > :base AND born > :base", {"key": key, "base": base})
    connection.execute(f"UPDATE llm4s_row SET died = {ALIVE} WHERE thread = ? AND died < {ALIVE} AND died > ?", (key, base))
    _drop_checkpoints(connection, "thread = :key AND number > :base", {"key": key, "base": settled})
    return connection.execute(f"SELECT count(*) FROM llm4s_row WHERE thread = ? AND died = {ALIVE}", (key,)).fetchone()[0]


def delete(connection: sqlite3.Connection, key: int) -> None:
    """Remove everything of the thread (R6.17)."""
    drop_writes(connection, key)
    own = {"key": key}
    runs = connection.execute("SELECT DISTINCT run FROM llm4s_checkpoint WHERE thread = :key", own).fetchall()
    _drop_rows(connection, "thread = :key AND died IS NOT NULL", own)
    _drop_checkpoints(connection, "thread = :key", own)
    _drop_events(connection, key, None)
    connection.executemany("DELETE FROM llm4s_run WHERE id = ?", runs)
    connection.execute("DELETE FROM llm4s_thread WHERE id = :key", own)


def compact(connection: sqlite3.Connection, row: ThreadRow, before: int) -> int:
    """Drop events numbered below `before`; the floor never falls, and never rises above the next number (R6.15).

    Whole commits' events go; of a commit that reaches over `before` the floor hides the rest until it goes as well.
    """
    floor = max(row.floor, min(before, row.next_event))
    if floor > row.floor and row.key:
        _drop_events(connection, row.key, floor)
        row.floor = floor
        connection.execute("UPDATE llm4s_thread SET floor = ? WHERE id = ?", (floor, row.key))
    return floor


def prune(connection: sqlite3.Connection, row: ThreadRow, policy: RetentionPolicy, now: datetime) -> None:
    """Keep the latest checkpoint, the newest settled one (the base of a retraction), and what the policy keeps (R6.37, D17)."""
    stored: list[tuple[int, int, int]] = connection.execute(
        "SELECT number, created_at, first_event FROM llm4s_checkpoint WHERE thread = ? AND status IS NOT NULL ORDER BY number DESC",
        (row.key,),
    ).fetchall()
    oldest = oldest_kept(policy, now)
    oldest_time = to_microseconds(oldest) if oldest is not None else None
    always = [mark.number for mark in (row.latest, row.settled) if mark]
    kept: list[tuple[int, int]] = []
    dropped: list[int] = []
    for index, (at, created_at, first_event) in enumerate(stored):
        wanted = (policy.max_checkpoints is None or index < policy.max_checkpoints) and (oldest_time is None or created_at >= oldest_time)
        if wanted or at in always:
            kept.append((at, first_event))
        else:
            dropped.append(at)
    if dropped:
        for at in dropped:
            _drop_checkpoints(connection, "thread = :key AND number = :number", {"key": row.key, "number": at})
        _drop_unseen(connection, row.key, sorted(at for at, _ in kept))
        compact(connection, row, kept[-1][1])
    if policy.max_events is not None:
        compact(connection, row, row.next_event - policy.max_events)


def reclaim(connection: sqlite3.Connection) -> bool:
    """Rebuild the file if a quarter of it is void; outside a transaction. True when it was rebuilt."""
    void: float = connection.execute("SELECT total(void_bytes) FROM llm4s_meta").fetchone()[0]  # a number, whatever is there
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    page: int = connection.execute("PRAGMA page_size").fetchone()[0]
    if void < _LEAST_VOID or void * 4 < pages * page:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table, condition in _VOID:
            connection.execute(f"DELETE FROM {table} WHERE {condition}")
        connection.execute("UPDATE llm4s_meta SET void_bytes = 0")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("VACUUM")
    return True


def _drop_unseen(connection: sqlite3.Connection, key: int, kept: list[int]) -> None:
    """Drop the dead rows that no kept checkpoint sees - born after one of them and dead by the next - unless what stays refers to them."""
    unseen: list[int] = []
    lower = FIRST_SEQ
    for number in kept:
        upper = FIRST_SEQ + number
        unseen.extend(
            one[0]
            for one in connection.execute(
                "SELECT id FROM llm4s_row WHERE thread = ? AND died > ? AND died <= ? AND born > ?", (key, lower, upper, lower)
            )
        )
        lower = upper
    going = set(unseen)
    needed: set[int] = set()
    for at, source in connection.execute("SELECT id, source FROM llm4s_row WHERE thread = ? AND source IS NOT NULL", (key,)):
        if at not in going:
            needed.add(source)
    for (refs,) in connection.execute("SELECT refs FROM llm4s_checkpoint WHERE thread = ? AND refs IS NOT NULL", (key,)):
        needed.update(part.row for _, part in parts(refs))
    _drop_each(connection, (at for at in unseen if at not in needed))


def _drop_each(connection: sqlite3.Connection, rows: Iterable[int]) -> None:
    for at in rows:
        _drop_rows(connection, "id = :id", {"id": at})


def _drop_rows(connection: sqlite3.Connection, condition: str, given: dict[str, int]) -> None:
    parked = f"id IN (SELECT id FROM llm4s_row WHERE {condition} AND section = '{PARKED}')"
    for void, table, which in ((_VOID_PARKED, "llm4s_parked", parked), (_VOID_ROWS, "llm4s_row", condition)):
        size = connection.execute(f"SELECT total(length(value)) FROM {table} WHERE {which}", given).fetchone()[0]
        connection.execute(f"{void} {which}", given)
        _count_void(connection, size)


def _drop_checkpoints(connection: sqlite3.Connection, condition: str, given: dict[str, int]) -> None:
    sizes = "SELECT total(length(body) + length(journal) + length(small)) FROM llm4s_checkpoint WHERE"
    size = connection.execute(f"{sizes} {condition}", given).fetchone()[0]
    connection.execute(f"{_VOID_CHECKPOINTS} {condition}", given)
    _count_void(connection, size)


def _drop_events(connection: sqlite3.Connection, key: int, floor: int | None) -> None:
    """Of a commit that reaches over `floor` all stay; None: all go."""
    for void, text, table, last in (
        (_VOID_EVENTS, "events", "llm4s_checkpoint", "last_event"),
        (_VOID_EVENTS_ALONE, "data", "llm4s_event", "last"),
    ):
        condition = "thread = :key" if floor is None else f"thread = :key AND {last} < :floor"
        given = {"key": key, "floor": floor}
        size = connection.execute(f"SELECT total(length({text})) FROM {table} WHERE {condition}", given).fetchone()[0]
        if size:
            connection.execute(f"{void} {condition}", given)
            _count_void(connection, size)


def _count_void(connection: sqlite3.Connection, size: float) -> None:
    if size:
        connection.execute("UPDATE llm4s_meta SET void_bytes = coalesce(void_bytes, 0) + ?", (int(size),))

"""Reading a thread back. Stored entries are handed on as they are; what the store itself must understand is checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

from ...errors import CheckpointNotFound, ReplayUnavailable, ThreadNotFound
from .._clock import from_microseconds
from .._event import EventRecord
from .._patch import Entries, Entry
from .._rules import check_format
from .._types import Checkpoint, CheckpointHeader, CheckpointStatus, Head, LatestCheckpoint, PendingWrite, ThreadSummary, Waiting
from ._event_json import from_text
from ._schema import ALIVE, LIST_HEAD, VALUE_HEAD
from ._thread_row import ThreadRow
from ._trouble import damaged

MOST = 1 << 62  # the largest number a limit or a position needs to be

_HEADER = """seq, token, format, checkpoint_id, parent_id, run_id, status, created_at, graph_id, graph_version, fingerprint,
    superstep, body, journal"""
_ONE = f"SELECT {_HEADER} FROM llm4s_checkpoint WHERE thread = ? AND checkpoint_id = ?"
_PAGE = f"""SELECT {_HEADER} FROM llm4s_checkpoint WHERE id IN (SELECT id FROM llm4s_checkpoint INDEXED BY llm4s_checkpoint_by_id
    WHERE thread = ? AND seq < ? ORDER BY seq DESC LIMIT ?) ORDER BY seq DESC"""
_LIVE = f"SELECT section, name, position, value, id, born, died FROM llm4s_row WHERE thread = ? AND died = {ALIVE}"
_SEEN = f"""{_LIVE} AND born <= ? UNION ALL
    SELECT section, name, position, value, id, born, died FROM llm4s_row WHERE thread = ? AND died < {ALIVE} AND died > ? AND born <= ?"""
_WRITTEN = "SELECT token FROM llm4s_checkpoint INDEXED BY llm4s_checkpoint_by_id WHERE thread = ? AND checkpoint_id = ?"
_WRITES = "SELECT task_id, node_id, body FROM llm4s_write WHERE thread = ? ORDER BY id"
_EVENTS = "SELECT first, last, data FROM llm4s_event WHERE thread = ? AND last > ? ORDER BY last LIMIT ?"
_SUMMARY = "id, thread_id, graph_id, status, created_at, updated_at"
_THREADS = f"""SELECT {_SUMMARY} FROM llm4s_thread INDEXED BY llm4s_thread_by_status
    WHERE status = ? AND (updated_at, id) < (?, ?) ORDER BY updated_at DESC, id DESC LIMIT ?"""
_WAITING = f"""SELECT name, value FROM llm4s_row INDEXED BY llm4s_row_alive
    WHERE thread = ? AND section = 'parked' AND died = {ALIVE} AND position = {VALUE_HEAD} ORDER BY id"""

_Row: TypeAlias = tuple[str, str, int, Any, int, int, int]
"""section, name, position, value, id, born, died"""


class Reading:
    """Reads of one file. `path` is for what is said of damage."""

    def __init__(self, path: str) -> None:
        self._path = path

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def head(self, connection: sqlite3.Connection, thread_id: str, now: datetime) -> Head:
        row = ThreadRow.load(connection, thread_id)
        if row is None:
            return Head(None, None, None)
        try:
            status = CheckpointStatus(row.status) if row.status is not None else None
            written = connection.execute(_WRITTEN, (row.key, row.checkpoint_id)).fetchone() if row.checkpoint_id is not None else None
            return Head(row.checkpoint_id, status, row.live_claim(now), row.writes, written[0] if written is not None else None)
        except (ValueError, TypeError, OverflowError) as error:
            raise damaged(self._path, f"the row of thread '{thread_id}': {error}") from error

    def latest(self, connection: sqlite3.Connection, thread_id: str) -> LatestCheckpoint | None:
        row = ThreadRow.load(connection, thread_id)
        if row is None or row.checkpoint_id is None:
            return None
        found = connection.execute(_ONE, (row.key, row.checkpoint_id)).fetchone()
        if found is None:
            raise damaged(self._path, f"the latest checkpoint of thread '{thread_id}' is missing")
        entries = self._entries(connection.execute(_LIVE, (row.key,)).fetchall(), thread_id)
        writes: tuple[PendingWrite, ...] = ()
        if row.writes:
            stored = connection.execute(_WRITES, (row.key,)).fetchall()
            writes = tuple(PendingWrite(row.checkpoint_id, task, node, self._bytes(body, thread_id)) for task, node, body in stored)
        return LatestCheckpoint(self._checkpoint(found, thread_id, entries), writes)

    def history(self, connection: sqlite3.Connection, thread_id: str, before: str | None, limit: int) -> list[Checkpoint]:
        row = ThreadRow.load(connection, thread_id)
        below = MOST
        if before is not None:
            found = connection.execute(_ONE, (row.key, before)).fetchone() if row else None
            if found is None:
                raise CheckpointNotFound(thread_id=thread_id, checkpoint_id=before)
            below = found[0]
        if row is None:
            return []
        return self._restored(connection, row, connection.execute(_PAGE, (row.key, below, min(limit, MOST))).fetchall())

    def checkpoint(self, connection: sqlite3.Connection, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        row = ThreadRow.load(connection, thread_id)
        found = connection.execute(_ONE, (row.key, checkpoint_id)).fetchone() if row else None
        return self._restored(connection, row, [found])[0] if row and found else None

    def _restored(self, connection: sqlite3.Connection, row: ThreadRow, headers: list[tuple[Any, ...]]) -> list[Checkpoint]:
        """The checkpoints, newest first, with their entries; the rows they share are read once."""
        if not headers:
            return []
        newest, oldest = headers[0][0], headers[-1][0]
        seen: list[_Row] = connection.execute(_SEEN, (row.key, newest, row.key, oldest, newest)).fetchall()
        return [
            self._checkpoint(header, row.thread_id, self._entries([one for one in seen if one[5] <= header[0] < one[6]], row.thread_id))
            for header in headers
        ]

    def _entries(self, rows: list[_Row], thread_id: str) -> Entries:
        """Put rows together; entries come in the order in which their heads were written."""
        heads: list[tuple[int, tuple[str, str], Entry]] = []
        lists: dict[tuple[str, str], list[bytes]] = {}
        items: list[_Row] = []
        for one in rows:
            if one[2] >= 0:
                items.append(one)
            elif one[2] == VALUE_HEAD:
                heads.append((one[4], one[:2], self._bytes(one[3], thread_id)))
            elif one[2] == LIST_HEAD:
                fresh: list[bytes] = []
                lists[one[:2]] = fresh
                heads.append((one[4], one[:2], fresh))
        items.sort(key=_position)
        for one in items:
            target = lists.get(one[:2])
            if target is None or one[2] != len(target):
                raise damaged(self._path, f"a list item of thread '{thread_id}' stands alone: {one[0]} '{one[1]}', position {one[2]}")
            target.append(self._bytes(one[3], thread_id))
        heads.sort(key=_place)
        return {at: entry for _, at, entry in heads}

    def _checkpoint(self, found: tuple[Any, ...], thread_id: str, entries: Entries) -> Checkpoint:
        """Raises: UnsupportedCheckpointFormat for a format this version does not read (R6.5)."""
        check_format(found[2])
        try:
            header = CheckpointHeader(
                format=found[2],
                id=found[3],
                parent_id=found[4],
                thread_id=thread_id,
                run_id=found[5],
                status=CheckpointStatus(found[6]),
                created_at=from_microseconds(found[7]),
                graph_id=found[8],
                graph_version=found[9],
                fingerprint=found[10],
                superstep=found[11],
                body=self._bytes(found[12], thread_id),
                journal=self._bytes(found[13], thread_id),
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise damaged(self._path, f"checkpoint '{found[3]}' of thread '{thread_id}': {error}") from error
        return Checkpoint(header, entries, found[1])

    def _bytes(self, value: Any, thread_id: str) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):  # edited with another program
            return value.encode()
        raise damaged(self._path, f"a value of thread '{thread_id}' is no JSON text but {value!r}")

    # -- events ------------------------------------------------------------------------------------------------------

    def events_after(self, connection: sqlite3.Connection, thread_id: str, sequence: int, limit: int) -> list[EventRecord]:
        row = ThreadRow.load(connection, thread_id)
        if row is None:
            return []
        if sequence + 1 < row.floor:
            raise ReplayUnavailable(earliest=row.floor)
        stored = connection.execute(_EVENTS, (row.key, min(sequence, MOST), min(limit, MOST))).fetchall()
        found: list[EventRecord] = []
        for first, last, data in stored:
            if len(found) >= limit:
                break
            try:
                records = from_text(thread_id, first, data)
            except (ValueError, TypeError, OverflowError) as error:
                raise damaged(self._path, f"events {first} to {last} of thread '{thread_id}': {error}") from error
            found.extend(records[max(0, sequence + 1 - first) :])
        return found[:limit]

    # -- lists of threads --------------------------------------------------------------------------------------------

    def threads(
        self, connection: sqlite3.Connection, status: CheckpointStatus | None, limit: int, after: str | None
    ) -> list[ThreadSummary]:
        place: tuple[int, int] = (MOST, MOST)
        if after is not None:
            row = ThreadRow.load(connection, after)
            if row is None or row.key is None or row.updated_at is None:
                raise ThreadNotFound(thread_id=after)
            place = (row.updated_at, row.key)
        wanted: Iterable[CheckpointStatus] = CheckpointStatus if status is None else (status,)
        found: list[tuple[Any, ...]] = []
        for one in wanted:  # the index leads with the status: four short scans instead of a second index to keep on every commit
            found.extend(connection.execute(_THREADS, (one.value, *place, min(limit, MOST))).fetchall())
        found.sort(key=_age, reverse=True)
        return [self._summary(connection, *one) for one in found[:limit]]

    def _summary(
        self, connection: sqlite3.Connection, key: int, thread_id: str, graph_id: str, status: str, created_at: int, updated_at: int
    ) -> ThreadSummary:
        parked = connection.execute(_WAITING, (key,)).fetchall()
        waiting = tuple(Waiting(name, self._bytes(value, thread_id)) for name, value in parked)
        return ThreadSummary(
            thread_id=thread_id,
            graph_id=graph_id,
            status=CheckpointStatus(status),
            interrupts=tuple(one.id for one in waiting),
            created_at=from_microseconds(created_at),
            updated_at=from_microseconds(updated_at),
            waiting=waiting,
        )


def _position(row: _Row) -> int:
    return row[2]


def _place(head: tuple[int, tuple[str, str], Entry]) -> int:
    return head[0]


def _age(summary: tuple[Any, ...]) -> tuple[int, int]:
    return (summary[5], summary[0])

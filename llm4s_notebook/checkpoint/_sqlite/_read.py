"""Reading a thread back. Stored entries are handed on as they are; what the store itself must understand is checked."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ...errors import CheckpointNotFound, ReplayUnavailable, StoreUnavailable, ThreadNotFound
from .._clock import from_microseconds
from .._event import EventRecord
from .._patch import Entries
from .._rules import check_format
from .._types import Checkpoint, CheckpointHeader, CheckpointStatus, Head, LatestCheckpoint, PendingWrite, ThreadSummary
from ._copies import parts, whole
from ._entries import Past, entries_of, lists_of, text
from ._event_json import from_text
from ._find import find
from ._lists import MOST, TooLong, summaries
from ._naming import id_of
from ._schema import ALIVE, FIRST_SEQ
from ._thread_row import STATUSES, ThreadRow, first_of
from ._trouble import damaged

_MISFITS = (TypeError, ValueError, OverflowError, AttributeError, LookupError, struct.error)
"""What comes of rows in which somebody put a text for a number, or nothing for a row: arguments were checked before."""
_NEAR = 16  # rows that are sooner read than searched

_HEADER = """c.number, c.token, c.format, c.name, c.parent, c.parent_name, c.status, c.created_at, c.superstep, c.body, c.journal,
    c.refs, c.small, r.run_id, p.run_id, g.graph_id, g.version, g.fingerprint"""
_NAMES = "LEFT JOIN llm4s_run r ON r.id = c.run LEFT JOIN llm4s_graph g ON g.id = r.graph LEFT JOIN llm4s_run p ON p.id = c.parent_run"
_CHECKPOINT = f"SELECT {_HEADER} FROM llm4s_checkpoint c {_NAMES}"
_ONE = f"{_CHECKPOINT} WHERE c.thread = ? AND c.number = ?"
_PAGE = f"{_CHECKPOINT} WHERE c.thread = ? AND c.number < ? AND c.status IS NOT NULL ORDER BY c.number DESC LIMIT ?"
_LATEST = f"""SELECT t.id, t.live, t.writes, {_HEADER} FROM llm4s_thread t
    LEFT JOIN llm4s_checkpoint c ON c.thread = t.id AND c.number = t.latest {_NAMES}
    WHERE t.thread_id = ? AND t.latest IS NOT NULL"""
# a text that is not where another row refers to it is NULL
_PART = "CASE WHEN w.size BETWEEN 0 AND length(s.value) - w.start THEN substr(CAST(s.value AS BLOB), w.start + 1, w.size) END"
_TEXT = f"""CASE WHEN w.source IS NOT NULL THEN (SELECT {_PART} FROM llm4s_row s WHERE s.id = w.source)
    WHEN w.value IS NULL THEN (SELECT p.value FROM llm4s_parked p WHERE p.id = w.id) ELSE w.value END"""
_HEADS = f"w.place, w.section, w.name, w.id, w.position, {_TEXT} FROM llm4s_row w INDEXED BY llm4s_row_by_death"
_ITEM = f"CASE WHEN w.source IS NULL THEN w.value ELSE {_PART} END"  # an item is never parked
_ITEMS = f"""w.list, w.position, {_ITEM} FROM llm4s_row w INDEXED BY llm4s_row_by_death
    LEFT JOIN llm4s_row s ON s.id = w.source"""
_NOW = f"WHERE w.thread = ? AND w.died = {ALIVE} AND w.list"
_THEN = "WHERE w.thread = ? AND w.died > ? AND w.born <= ? AND w.list"
_LIVE = (f"SELECT {_HEADS} {_NOW} = 0", f"SELECT {_ITEMS} {_NOW} > 0")
_SEEN = (f"SELECT w.born, w.died, {_HEADS} {_THEN} = 0", f"SELECT w.born, w.died, {_ITEMS} {_THEN} > 0")
_VALUE = "SELECT value FROM llm4s_row WHERE id = ?"
_WRITES = "SELECT task_id, node_id, body FROM llm4s_write WHERE thread = ? ORDER BY id"
_EVENTS = """SELECT c.first_event, c.last_event, c.created_at, r.run_id, c.number, c.events FROM llm4s_checkpoint c
    LEFT JOIN llm4s_run r ON r.id = c.run
    WHERE c.thread = ? AND c.number >= ? AND c.last_event > ? AND c.events IS NOT NULL ORDER BY c.number LIMIT ?"""
_EVENTS_ALONE = """SELECT e.first, e.last, e.at, r.run_id, e.checkpoint, e.data FROM llm4s_event e LEFT JOIN llm4s_run r ON r.id = e.run
    WHERE e.thread = ? AND e.last > ? AND e.first IS NOT NULL ORDER BY e.last LIMIT ?"""
_LAST_EVENT = "SELECT last_event FROM llm4s_checkpoint WHERE thread = ? AND number >= ? ORDER BY number LIMIT 1"


class Reading:
    """Reads of one file. `path` is for what is said of damage."""

    def __init__(self, path: str) -> None:
        self._path = path

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def row(self, connection: sqlite3.Connection, thread_id: str) -> ThreadRow | None:
        """The thread's row; checked as far as it names other rows."""
        return self._row(ThreadRow.load, connection, thread_id)

    def _row(
        self, load: Callable[[sqlite3.Connection, str], ThreadRow | None], connection: sqlite3.Connection, thread_id: str
    ) -> ThreadRow | None:
        try:
            return load(connection, thread_id)
        except TypeError as error:
            raise damaged(self._path, f"the row of thread '{thread_id}': {error}") from error

    def head(self, connection: sqlite3.Connection, thread_id: str, now: datetime) -> Head:
        """With one statement, so that it needs no transaction."""
        row = self._row(ThreadRow.glance, connection, thread_id)
        if row is None:
            return Head(None, None, None)
        try:
            status = self._status(row.status) if row.status is not None else None
            return Head(row.checkpoint_id, status, row.live_claim(now), row.writes, row.latest_token)
        except (ValueError, TypeError, OverflowError) as error:
            raise damaged(self._path, f"the row of thread '{thread_id}': {error}") from error

    def latest(self, connection: sqlite3.Connection, thread_id: str, most: int | None = None) -> LatestCheckpoint | None:
        """Raises: TooLong if the thread has more than `most` rows."""
        row = first_of(connection, _LATEST, thread_id)
        if row is None:
            return None
        key, live, pending, *found = row
        if found[0] is None:
            raise damaged(self._path, f"the latest checkpoint of thread '{thread_id}' is missing")
        try:
            if most is not None and live + pending > most:
                raise TooLong
            heads, items = [connection.execute(one, (key,)).fetchall() for one in _LIVE]
            entries = entries_of(heads, lists_of(items, thread_id), found[12], found[0], thread_id)
            checkpoint = self._checkpoint(connection, found, thread_id, entries)
        except _MISFITS as error:
            raise self._misfit(thread_id, error) from error
        writes: tuple[PendingWrite, ...] = ()
        if pending:
            stored = connection.execute(_WRITES, (key,)).fetchall()
            writes = tuple(PendingWrite(checkpoint.id, task, node, text(body, thread_id)) for task, node, body in stored)
        return LatestCheckpoint(checkpoint, writes)

    def history(self, connection: sqlite3.Connection, thread_id: str, before: str | None, limit: int) -> list[Checkpoint]:
        row = self.row(connection, thread_id)
        if row is None:
            if before is not None:
                raise CheckpointNotFound(thread_id=thread_id, checkpoint_id=before)
            return []
        below: int | None = MOST
        if before is not None:
            below = find(connection, row.key, before)
            if below is None:
                raise CheckpointNotFound(thread_id=thread_id, checkpoint_id=before)
        page = connection.execute(_PAGE, (row.key, below, min(limit, MOST))).fetchall()
        return self._restored(connection, row, page)

    def checkpoint(self, connection: sqlite3.Connection, thread_id: str, checkpoint_id: str) -> Checkpoint | None:
        row = self.row(connection, thread_id)
        at = find(connection, row.key, checkpoint_id) if row else None
        if row is None or at is None:
            return None
        return self._restored(connection, row, connection.execute(_ONE, (row.key, at)).fetchall())[0]

    def _restored(self, connection: sqlite3.Connection, row: ThreadRow, headers: list[tuple[Any, ...]]) -> list[Checkpoint]:
        """The checkpoints, newest first, with their entries; the rows they share are read once."""
        if not headers:
            return []
        newest, oldest = FIRST_SEQ + headers[0][0], FIRST_SEQ + headers[-1][0]
        heads, items = [connection.execute(one, (row.key, oldest, newest)).fetchall() for one in _SEEN]
        found: list[Checkpoint] = []
        try:
            past = Past(heads, items, row.thread_id)
            for header in headers:
                entries = past.entries(FIRST_SEQ + header[0], header[12], header[0])
                found.append(self._checkpoint(connection, header, row.thread_id, entries))
        except _MISFITS as error:
            raise self._misfit(row.thread_id, error) from error
        return found

    def _misfit(self, thread_id: str, error: BaseException) -> StoreUnavailable:
        return damaged(self._path, f"the rows of thread '{thread_id}' do not fit each other: {error}")

    def _checkpoint(self, connection: sqlite3.Connection, found: Sequence[Any], thread_id: str, entries: Entries) -> Checkpoint:
        """Raises: UnsupportedCheckpointFormat for a format this version does not read (R6.5)."""
        (
            at, token, format_number, name, parent, parent_name, status, created_at, superstep, body, journal, refs, _,
            run_id, parent_run, graph_id, version, fingerprint,
        ) = found  # fmt: skip
        check_format(format_number)
        if graph_id is None:
            raise damaged(self._path, f"the graph of checkpoint '{run_id}/{at}' of thread '{thread_id}' is missing")
        try:
            above = None if parent is None else id_of(run_id if parent_run is None else parent_run, parent, parent_name)
            journal = text(journal, thread_id)
            if refs is not None:
                rows = {part.row for _, part in parts(refs)}
                values = {row: text(connection.execute(_VALUE, (row,)).fetchone()[0], thread_id) for row in rows}
                journal = whole(journal, refs, values)
            header = CheckpointHeader(
                format=format_number,
                id=id_of(run_id, at, name),
                parent_id=above,
                thread_id=thread_id,
                run_id=run_id,
                status=self._status(status),
                created_at=from_microseconds(created_at),
                graph_id=graph_id,
                graph_version=version,
                fingerprint=fingerprint,
                superstep=superstep,
                body=text(body, thread_id),
                journal=journal,
            )
        except (ValueError, TypeError, OverflowError) as error:
            raise damaged(self._path, f"checkpoint '{run_id}/{at}' of thread '{thread_id}': {error}") from error
        return Checkpoint(header, entries, token)

    def _status(self, code: Any) -> CheckpointStatus:
        if not isinstance(code, int) or not 0 <= code < len(STATUSES):
            raise ValueError(f"{code!r} is no status")
        return STATUSES[code]

    # -- events ------------------------------------------------------------------------------------------------------

    def events_after(self, connection: sqlite3.Connection, thread_id: str, sequence: int, limit: int) -> list[EventRecord]:
        row = self.row(connection, thread_id)
        if row is None:
            return []
        if sequence + 1 < row.floor:
            raise ReplayUnavailable(earliest=row.floor)
        above, most = min(sequence, MOST), min(limit, MOST)
        stored: list[tuple[Any, ...]] = connection.execute(_EVENTS_ALONE, (row.key, above, most)).fetchall()
        try:
            if row.latest is not None:
                start = self._first_after(connection, row.key, row.latest.number, above)
                stored += connection.execute(_EVENTS, (row.key, start, above, most)).fetchall()
                stored.sort(key=_first)
        except _MISFITS as error:
            raise self._misfit(thread_id, error) from error
        found: list[EventRecord] = []
        for first, last, since, run_id, number, data in stored:
            if len(found) >= limit:
                break
            try:
                records = from_text(thread_id, first, since, run_id, number, data)
            except (*_MISFITS, RecursionError) as error:
                raise damaged(self._path, f"events {first} to {last} of thread '{thread_id}': {error}") from error
            found.extend(records[max(0, sequence + 1 - first) :])
        return found[:limit]

    def _first_after(self, connection: sqlite3.Connection, key: int, latest: int, sequence: int) -> int:
        """The number of a checkpoint at or shortly before the first one with events above `sequence`: both grow along the thread.
        Whoever follows a thread asks for the newest, so the search begins at the end."""
        high, step = latest, 1
        while True:
            low = max(latest - step, 0)
            if low == 0 or connection.execute(_LAST_EVENT, (key, low)).fetchone()[0] <= sequence:
                break
            high, step = low, step * 4
        while high - low > _NEAR:
            middle = (high + low) // 2
            if connection.execute(_LAST_EVENT, (key, middle)).fetchone()[0] <= sequence:
                low = middle
            else:
                high = middle
        return low

    # -- lists of threads --------------------------------------------------------------------------------------------

    def threads(
        self, connection: sqlite3.Connection, status: CheckpointStatus | None, limit: int, after: str | None, most: int | None = None
    ) -> list[ThreadSummary]:
        """A page is read with one statement, whatever its length.

        Raises: ThreadNotFound; TooLong if it and what waits on it has more than `most` lines.
        """
        place: tuple[int, int] | None = None
        if after is not None:
            row = self.row(connection, after)
            if row is None or row.updated_at is None:
                raise ThreadNotFound(thread_id=after)
            place = (row.updated_at, row.key)
        try:
            return summaries(connection, status, place, limit, most)
        except (TypeError, OverflowError) as error:
            raise damaged(self._path, f"the rows of its threads: {error}") from error


def _first(stored: tuple[Any, ...]) -> int:
    return stored[0]

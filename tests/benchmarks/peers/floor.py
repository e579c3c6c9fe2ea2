"""The floor: no runtime at all. Node functions in a plain asyncio loop, dict updates, and one SQLite transaction where a superstep ends."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder().decode

Row = tuple[str, int, bytes]
Waiting = tuple[str, str, bytes]


class MemoryLog:
    """Rows in a list."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def commit(self, rows: Iterable[Row] = (), wait: Iterable[Waiting] = (), done: Iterable[tuple[str, str]] = ()) -> None:
        self.rows.extend(rows)

    def close(self) -> None: ...


class FileLog:
    """Rows that are only appended, and a table of what waits, in a SQLite file with a write-ahead log."""

    def __init__(self, path: Path, synchronous: str) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute(f"PRAGMA synchronous = {synchronous}")
        self.connection.executescript("""
            CREATE TABLE IF NOT EXISTS log (thread TEXT, seq INTEGER, body BLOB, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS waiting (thread TEXT, task TEXT, payload BLOB, PRIMARY KEY (thread, task)) WITHOUT ROWID;
        """)

    def commit(self, rows: Iterable[Row] = (), wait: Iterable[Waiting] = (), done: Iterable[tuple[str, str]] = ()) -> None:
        connection = self.connection
        connection.execute("BEGIN IMMEDIATE")
        if rows:
            connection.executemany("INSERT INTO log VALUES (?, ?, ?)", rows)
        if done:
            connection.executemany("DELETE FROM waiting WHERE thread = ? AND task = ?", done)
        if wait:
            connection.executemany("INSERT INTO waiting VALUES (?, ?, ?)", wait)
        connection.execute("COMMIT")

    def bodies(self, thread: str) -> list[bytes]:
        """Everything of a thread, oldest first."""
        return [body for (body,) in self.connection.execute("SELECT body FROM log WHERE thread = ? ORDER BY seq", (thread,))]

    def close(self) -> None:
        self.connection.close()


def log_of(store: str, path: Path) -> MemoryLog | FileLog | None:
    """The log of a mode's store; None where nothing is kept."""
    if store == "none":
        return None
    return MemoryLog() if store == "memory" else FileLog(path, store)


class GroupWriter:
    """One writing thread: what is queued while it commits goes into its next transaction."""

    def __init__(self, log: FileLog) -> None:
        self._log = log
        self._queue: queue.SimpleQueue[tuple[list[Row], asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    async def commit(self, *rows: Row) -> None:
        durable: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((list(rows), durable))
        await durable

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _write(self) -> None:
        ends = False
        while not ends:
            queued = [self._queue.get()]
            while not self._queue.empty():
                queued.append(self._queue.get())
            ends = None in queued
            group = [one for one in queued if one is not None]
            if group:
                self._log.commit([row for rows, _ in group for row in rows])
                self._loop.call_soon_threadsafe(_tell, [durable for _, durable in group])


def _tell(futures: list[asyncio.Future[Any]]) -> None:
    for future in futures:
        future.set_result(None)

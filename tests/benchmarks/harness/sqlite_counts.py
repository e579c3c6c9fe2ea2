"""Commits, changed rows, steps and statements of every SQLite connection of this process, whoever opens it."""

from __future__ import annotations

import functools
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

_STEPS = 100  # SQLite tells of its virtual machine's steps only so many at a time
_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE")


class Counts(NamedTuple):
    commits: int
    rows: int
    vm_steps: int


class _Connection(sqlite3.Connection):
    """Tells `SqliteCounts` what it is asked to do."""

    counts: SqliteCounts

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.rows_before = 0
        self.counts.connections.append(self)
        self.set_trace_callback(self._traced)
        self.set_progress_handler(self._stepped, _STEPS)

    def _stepped(self) -> int:
        self.counts.vm_steps += _STEPS
        return 0

    def _traced(self, statement: str) -> None:
        self.counts.statements.append(statement)
        word = statement.lstrip()[:7].upper()
        alone = word.startswith(_CHANGES) and not self.in_transaction
        if alone or (word.startswith("COMMIT") and self.total_changes > self.rows_before):
            self.counts.commits += 1
        if word.startswith("COMMIT"):
            self.rows_before = self.total_changes


class SqliteCounts:
    """A commit is a transaction that changed rows; a transaction that only read is none."""

    def __init__(self) -> None:
        self.commits = 0
        self.vm_steps = 0
        self.connections: list[_Connection] = []
        self.statements: list[str] = []

    @classmethod
    def installed(cls) -> SqliteCounts:
        """Counts for all connections that are opened from now on."""
        counts = cls()
        factory = type("CountedConnection", (_Connection,), {"counts": counts})
        sqlite3.connect = functools.partial(sqlite3.connect, factory=factory)
        return counts

    @property
    def used(self) -> bool:
        return bool(self.connections)

    def now(self) -> Counts:
        return Counts(self.commits, sum(connection.total_changes for connection in self.connections), self.vm_steps)


def stored_bytes(path: Path) -> int:
    """Bytes of all texts and blobs in all columns of all tables: what is stored, without pages, indexes and the log."""
    connection = sqlite3.Connection(path)  # not `connect`: this look is not counted
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        total = 0
        for table in tables:
            for column in [f'"{row[1]}"' for row in connection.execute(f"PRAGMA table_info('{table}')")]:
                size = f"SELECT coalesce(sum(length(CAST({column} AS BLOB))), 0) FROM '{table}' WHERE typeof({column}) IN ('text', 'blob')"
                total += connection.execute(size).fetchone()[0]
        return total
    finally:
        connection.close()


def table_scans(path: Path, statements: list[str]) -> int:
    """How many of these statements that read go through a whole table for want of an index."""
    connection = sqlite3.Connection(path)
    try:
        reads = {one for one in statements if one.lstrip().upper().startswith(("SELECT", "WITH"))}
        plans = [connection.execute(f"EXPLAIN QUERY PLAN {one}").fetchall() for one in reads]
        return sum(any(row[3].startswith("SCAN") and "USING" not in row[3] for row in plan) for plan in plans)
    finally:
        connection.close()

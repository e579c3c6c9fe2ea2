"""The tables, and how a file gets them (R6.41, R6.43).

Entries are kept as *temporal rows*. A row is one value, the head of a list, or one item of a list; it is seen by every
checkpoint of its thread from `born` up to, not including, `died`. A commit therefore writes only what changed, and any
checkpoint of the history can still be read. What is alive now is found by a partial index.

Tables that carry text are only appended to, and their rows never grow, so that no page with text is ever split or merged:
that would leave copies behind (`_retain`). Hence no WITHOUT ROWID, and sequence numbers - counting checkpoints along a thread
from FIRST_SEQ - and ALIVE, which stands for "not yet", all take eight bytes: closing a row overwrites it in place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ...errors import StoreUnavailable

FIRST_SEQ: Final = 1 << 56
ALIVE: Final = 1 << 62
LIST_HEAD: Final = -1
VALUE_HEAD: Final = -2

_TABLES = (
    "CREATE TABLE llm4s_meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_token INTEGER NOT NULL, void_bytes INTEGER NOT NULL,"
    " scrub_due INTEGER NOT NULL)",
    "INSERT INTO llm4s_meta (id, last_token, void_bytes, scrub_due) VALUES (1, 0, 0, 0)",
    """CREATE TABLE llm4s_thread (
        id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE,
        seq INTEGER, checkpoint_id TEXT, settled_seq INTEGER, settled_id TEXT,
        graph_id TEXT, status TEXT, created_at INTEGER, updated_at INTEGER,
        next_event INTEGER NOT NULL, floor INTEGER NOT NULL, writes INTEGER NOT NULL,
        token INTEGER, holder TEXT, expires_at INTEGER, process TEXT)""",
    "CREATE INDEX llm4s_thread_by_status ON llm4s_thread (status, updated_at, id)",
    """CREATE TABLE llm4s_checkpoint (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, seq INTEGER NOT NULL, checkpoint_id TEXT NOT NULL,
        parent_id TEXT, run_id TEXT NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL,
        graph_id TEXT NOT NULL, graph_version TEXT NOT NULL, fingerprint TEXT NOT NULL, superstep INTEGER NOT NULL,
        format INTEGER, token INTEGER NOT NULL, first_event INTEGER NOT NULL, body BLOB NOT NULL, journal BLOB NOT NULL)""",
    "CREATE INDEX llm4s_checkpoint_by_id ON llm4s_checkpoint (thread, checkpoint_id, seq)",
    """CREATE TABLE llm4s_row (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, born INTEGER NOT NULL, died INTEGER,
        section TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL, value BLOB)""",
    f"CREATE INDEX llm4s_row_alive ON llm4s_row (thread, section, name, position, born) WHERE died = {ALIVE}",
    f"CREATE INDEX llm4s_row_dead ON llm4s_row (thread, died) WHERE died < {ALIVE}",
    """CREATE TABLE llm4s_write (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, task_id TEXT NOT NULL, node_id TEXT NOT NULL, body BLOB NOT NULL)""",
    "CREATE INDEX llm4s_write_by_thread ON llm4s_write (thread)",
    # one row for the events of one commit, numbered `first` to `last`
    """CREATE TABLE llm4s_event (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, data TEXT NOT NULL)""",
    "CREATE INDEX llm4s_event_by_number ON llm4s_event (thread, last)",
)


def _first_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)


Step: TypeAlias = Callable[[sqlite3.Connection], None]
STEPS: Final[Sequence[Step]] = (_first_tables,)
"""What leads from each version to the next; the first starts at nothing."""


def check_version(connection: sqlite3.Connection, path: str, steps: Sequence[Step] = STEPS) -> int:
    """The file's schema version, 0 for none; reads only. Raises: StoreUnavailable for a newer or unreadable one."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'llm4s_schema'").fetchone() is None:
        return 0
    rows: list[tuple[object]] = connection.execute("SELECT version FROM llm4s_schema").fetchall()
    version = rows[0][0] if len(rows) == 1 else None
    if not isinstance(version, int) or version < 1:
        raise StoreUnavailable(path=path, reason=f"the file's schema version is {version!r}, which is none", next_step="open another file")
    if version > len(steps):
        raise StoreUnavailable(
            path=path,
            reason=f"the file has schema version {version}; this version of llm4s-notebook reads up to {len(steps)}",
            next_step="open it with a newer llm4s-notebook; it was left as it is",
        )
    return version


def upgrade(connection: sqlite3.Connection, path: str, steps: Sequence[Step] = STEPS) -> None:
    """Bring the file to the newest version, step by step in one transaction; a failing step leaves it as it was."""
    if check_version(connection, path, steps) == len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = check_version(connection, path, steps)  # another process may have been faster
        if version == 0:
            connection.execute("CREATE TABLE llm4s_schema (version INTEGER NOT NULL)")
            connection.execute("INSERT INTO llm4s_schema (version) VALUES (0)")
        for step in steps[version:]:
            step(connection)
        connection.execute("UPDATE llm4s_schema SET version = ?", (len(steps),))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

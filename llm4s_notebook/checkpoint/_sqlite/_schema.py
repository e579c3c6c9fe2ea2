"""The tables, and how a file gets them (R6.41, R6.43).

A checkpoint is one row: its header, and in `small` the little values of its thread, written anew each time because their sum
is bounded. Everything else of a thread is kept as *temporal rows*. A row is one value, the head of a list, or one item of a
list; it is seen by every checkpoint of its thread from `born` up to, not including, `died`. A commit therefore writes only
what changed, and any checkpoint of the history can still be read. One index finds what is alive now and what died when.

What waits is text of a table of its own, and an index holds all else that a list of threads shows: listing reads neither threads' rows nor
their messages.

Tables that carry text are only appended to - the rows of all threads one behind the other - and their rows never grow, so that
no page with text is ever split or merged: that would leave copies behind (`_retain`). Hence no WITHOUT ROWID and no key that
puts a thread's rows together; and `born` and `died` - FIRST_SEQ and the number of a checkpoint - and ALIVE, which stands for
"not yet", all take eight bytes: closing a row overwrites it in place. Indexes hold numbers and names only.

A thread's key is the token it was first claimed with, which is never given out again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ...errors import StoreUnavailable

PARKED: Final = "parked"  # a section of which a thread may have very many, and which lists of threads read
MOST_ENTRIES: Final = (1 << 32) - 1  # that a thread can ever set
FIRST_SEQ: Final = 1 << 56
ALIVE: Final = 1 << 62
LIST_HEAD: Final = -1
VALUE_HEAD: Final = -2
PAGE_SIZE: Final = 1024  # bytes: a commit rewrites a few pages, and small ones are cheaper to log and to sync

_TABLES = (
    "CREATE TABLE llm4s_meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_token INTEGER NOT NULL, void_bytes INTEGER NOT NULL,"
    " scrub_due INTEGER NOT NULL)",
    "INSERT INTO llm4s_meta (id, last_token, void_bytes, scrub_due) VALUES (1, 0, 0, 0)",
    # what repeats in every header, once
    """CREATE TABLE llm4s_graph (
        id INTEGER PRIMARY KEY, graph_id TEXT NOT NULL, version TEXT NOT NULL, fingerprint TEXT NOT NULL,
        UNIQUE (graph_id, version, fingerprint))""",
    "CREATE TABLE llm4s_run (id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, graph INTEGER NOT NULL)",
    # latest, settled: numbers of checkpoints; entries: how many were ever set, which is the place of the last one; live: how many rows
    # are alive; named: 1 if a checkpoint has a name; process, holder, expires_at: of the claim with `token`
    """CREATE TABLE llm4s_thread (
        id INTEGER PRIMARY KEY, thread_id TEXT NOT NULL UNIQUE,
        latest INTEGER, settled INTEGER, graph INTEGER, status INTEGER, created_at INTEGER, updated_at INTEGER,
        next_event INTEGER NOT NULL, floor INTEGER NOT NULL, writes INTEGER NOT NULL,
        entries INTEGER NOT NULL, live INTEGER NOT NULL, named INTEGER NOT NULL,
        token INTEGER, holder TEXT, expires_at INTEGER, process TEXT)""",
    # all that a list of threads shows; a running thread is in no index that moves with the time, so that a superstep touches none
    """CREATE INDEX llm4s_thread_by_status ON llm4s_thread (status, updated_at, id, graph, created_at, thread_id) WHERE status > 0""",
    "CREATE INDEX llm4s_thread_running ON llm4s_thread (status) WHERE status = 0",
    # number: counts along the thread; name: NULL where the id is <run id>/<number> (_naming); refs: what is cut out of the journal
    # (_copies); status: NULL once it is void; first_event: the number of its commit's first event, or the next one's; events: of its
    # commit, up to last_event, if it is the commit's last checkpoint
    """CREATE TABLE llm4s_checkpoint (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, number INTEGER NOT NULL, run INTEGER NOT NULL, name TEXT,
        parent INTEGER, parent_run INTEGER, parent_name TEXT, status INTEGER,
        created_at INTEGER NOT NULL, superstep INTEGER NOT NULL, format INTEGER, token INTEGER NOT NULL,
        first_event INTEGER NOT NULL, last_event INTEGER NOT NULL, body BLOB NOT NULL, small BLOB NOT NULL, refs BLOB,
        events TEXT, journal BLOB NOT NULL)""",
    "CREATE UNIQUE INDEX llm4s_checkpoint_by_number ON llm4s_checkpoint (thread, number)",
    "CREATE INDEX llm4s_checkpoint_by_name ON llm4s_checkpoint (thread, name) WHERE name IS NOT NULL",
    # place: orders the entries of a thread; list: the row of the head, 0 for a head or a value; died: NULL once it is void;
    # source, start, size: where the value lies if it is a part of another row's (_copies); value: NULL for what is parked
    """CREATE TABLE llm4s_row (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, born INTEGER NOT NULL, died INTEGER, place INTEGER NOT NULL,
        list INTEGER NOT NULL, section TEXT NOT NULL, name TEXT NOT NULL, position INTEGER NOT NULL,
        source INTEGER, start INTEGER, size INTEGER, value BLOB)""",
    "CREATE INDEX llm4s_row_by_death ON llm4s_row (thread, died, list, section, name, position)",
    f"""CREATE INDEX llm4s_row_waiting ON llm4s_row (thread, section, died, position, place, name)
        WHERE section = '{PARKED}' AND died = {ALIVE} AND position = {VALUE_HEAD}""",
    # the value of the parked row of that id; NULL once it is void
    "CREATE TABLE llm4s_parked (id INTEGER PRIMARY KEY, value BLOB)",
    """CREATE TABLE llm4s_write (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, task_id TEXT NOT NULL, node_id TEXT NOT NULL, body BLOB NOT NULL)""",
    "CREATE INDEX llm4s_write_by_thread ON llm4s_write (thread)",
    # the events of a commit without a checkpoint, numbered `first` to `last`; `first` is NULL once they are void
    """CREATE TABLE llm4s_event (
        id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, first INTEGER, last INTEGER NOT NULL, run INTEGER, checkpoint INTEGER NOT NULL,
        at INTEGER NOT NULL, data TEXT NOT NULL)""",
    "CREATE INDEX llm4s_event_by_number ON llm4s_event (thread, last)",
)


TABLES: Final = (
    "llm4s_meta",
    "llm4s_graph",
    "llm4s_run",
    "llm4s_thread",
    "llm4s_checkpoint",
    "llm4s_row",
    "llm4s_parked",
    "llm4s_write",
    "llm4s_event",
)
"""Those of the newest version, besides `llm4s_schema`."""


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


def check_tables(connection: sqlite3.Connection, path: str, version: int) -> None:
    """Our tables are there, or none of their names is taken; reads only. Raises: StoreUnavailable."""
    here = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'llm4s%'").fetchall()}
    if version == 0:
        taken = [name for name in TABLES if name in here]
        if taken and check_version(connection, path) == 0:  # else another process has made them just now
            raise StoreUnavailable(
                path=path, reason=f"the file has a table '{taken[0]}' that is not ours", next_step="open another file; it was left as it is"
            )
    elif version == len(STEPS):
        lost = [name for name in TABLES if name not in here]
        if lost:
            raise StoreUnavailable(
                path=path,
                reason=f"the file is damaged: its table '{lost[0]}' is missing",
                next_step="restore it from a copy, or open another file; it was left as it is",
            )


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

"""What is known of a thread while it is changed: its row, the names behind the numbers in it, and what the change needs to look up."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from .._clock import from_microseconds
from .._types import CheckpointStatus, Claim
from .._value import Value
from . import _small
from ._heads import Head, Heads
from ._naming import id_of
from ._process import ProcessMark, provably_dead
from ._schema import MOST_ENTRIES
from ._trouble import Damage

Lease: TypeAlias = tuple[int, str, int, str | None]
"""Of a claim: its token, holder, end in microseconds, and process."""
STATUSES: Final = (CheckpointStatus.RUNNING, CheckpointStatus.SUSPENDED, CheckpointStatus.COMPLETED, CheckpointStatus.FAILED)
CODES: Final = {status: code for code, status in enumerate(STATUSES)}

_SELECT = """SELECT t.thread_id, t.id, t.latest, t.settled, t.graph, t.status, t.created_at, t.updated_at, t.next_event, t.floor, t.writes,
    t.entries, t.live, t.named, t.token, t.holder, t.expires_at, t.process,
    c.run, c.name, c.token, r.run_id, g.graph_id, g.version, g.fingerprint, s.run, s.name, q.run_id, g.id
    FROM llm4s_thread t
    LEFT JOIN llm4s_checkpoint c ON c.thread = t.id AND c.number = t.latest LEFT JOIN llm4s_run r ON r.id = c.run
    LEFT JOIN llm4s_graph g ON g.id = r.graph
    LEFT JOIN llm4s_checkpoint s ON s.thread = t.id AND s.number = t.settled LEFT JOIN llm4s_run q ON q.id = s.run
    WHERE t.thread_id = ?"""
_GLANCE = """SELECT t.latest, t.status, t.writes, t.token, t.holder, t.expires_at, t.process, c.run, c.name, c.token, r.run_id
    FROM llm4s_thread t
    LEFT JOIN llm4s_checkpoint c ON c.thread = t.id AND c.number = t.latest LEFT JOIN llm4s_run r ON r.id = c.run
    WHERE t.thread_id = ?"""
_BEGUN = """INSERT INTO llm4s_thread (id, thread_id, next_event, floor, writes, entries, live, named, token, holder, expires_at, process)
    VALUES (?, ?, 1, 1, 0, 0, 0, 0, ?, ?, ?, ?)"""
_SMALL = "SELECT small FROM llm4s_checkpoint WHERE thread = ? AND number = ?"
_WHOLE: Final = {int}
_PERHAPS: Final = {int, type(None)}
_TEXTS: Final = 16  # long values remembered
_LONGEST: Final = 1 << 16  # bytes of one of them


class Mark(Value, frozen=True):
    """A checkpoint as others refer to it: its number, its run's row, its name there, and its id."""

    number: int
    run: int
    name: str | None
    id: str


@dataclass(slots=True)
class ThreadRow:
    """A thread as its row tells it, times in microseconds, and below the line what a commit looks up.

    A store remembers it from one commit to the next, and when the thread is free for the next claim. Whoever uses it checks with the
    first statement that the row in the file is still the one it was made from. `key` is 0 until the row exists.
    """

    thread_id: str
    key: int = 0
    latest: Mark | None = None
    settled: Mark | None = None
    graph: int | None = None
    status: int | None = None
    created_at: int | None = None
    updated_at: int | None = None
    next_event: int = 1
    floor: int = 1
    writes: int = 0
    entries: int = 0
    live: int = 0
    named: int = 0
    token: int | None = None
    holder: str | None = None
    expires_at: int | None = None
    process: str | None = None
    latest_token: int | None = None
    run_id: str | None = None
    graph_text: tuple[str, str, str] | None = None
    # ----
    pieces: _small.Pieces | None = None
    size: int = 0
    """Bytes of the pieces."""
    heads: Heads = field(default_factory=Heads)
    texts: dict[int, bytes] = field(default_factory=dict[int, bytes])

    @classmethod
    def load(cls, connection: sqlite3.Connection, thread_id: str) -> ThreadRow | None:
        """Raises: Damage for a row that refers to what is not there, or whose numbers are none."""
        found = first_of(connection, _SELECT, thread_id)
        if found is None:
            return None
        whole, perhaps = found[8:14], (*found[2:8], found[14], found[16], found[20])
        if not (_WHOLE.issuperset(map(type, whole)) and _PERHAPS.issuperset(map(type, perhaps))):
            raise Damage(f"the row of thread '{thread_id}' has something else where a number belongs")
        if min(whole) < 0 or found[11] > MOST_ENTRIES or (found[28] is not None and found[4] != found[28]):
            raise Damage(f"the row of thread '{thread_id}' has numbers that cannot be")
        latest = _mark(found[2], found[18], found[19], found[21])
        settled = latest if found[3] == found[2] else _mark(found[3], found[25], found[26], found[27])
        row = cls(found[0], found[1], latest, settled, *found[4:18])
        row.latest_token, row.run_id = found[20], found[21]
        if found[22] is not None:
            row.graph_text = (found[22], found[23], found[24])
        return row

    @classmethod
    def glance(cls, connection: sqlite3.Connection, thread_id: str) -> ThreadRow | None:
        """Only its latest checkpoint, status and claim. Raises: Damage."""
        found = first_of(connection, _GLANCE, thread_id)
        if found is None:
            return None
        latest, status, writes, token, holder, expires_at, process, run, name, latest_token, run_id = found
        return cls(
            thread_id, latest=_mark(latest, run, name, run_id), status=status, writes=writes, latest_token=latest_token,
            token=token, holder=holder, expires_at=expires_at, process=process,
        )  # fmt: skip

    @property
    def checkpoint_id(self) -> str | None:
        return self.latest.id if self.latest else None

    @property
    def settled_id(self) -> str | None:
        return self.settled.id if self.settled else None

    # -- the claim ---------------------------------------------------------------------------------------------------

    def live_claim(self, now: datetime) -> Claim | None:
        """The claim, unless its lease ran out or its process is provably dead (R6.6, D8)."""
        claim = self.claim()
        if claim is None or claim.expires_at <= now:
            return None
        mark = ProcessMark.from_text(self.process) if self.process else None
        return None if mark and provably_dead(mark) else claim

    def claim(self) -> Claim | None:
        """The claim as recorded, expired or not."""
        if self.token is None or self.holder is None or self.expires_at is None:
            return None
        return Claim(self.token, self.holder, from_microseconds(self.expires_at))

    def take(self, lease: Lease) -> None:
        self.token, self.holder, self.expires_at, self.process = lease

    def begin(self, connection: sqlite3.Connection, lease: Lease) -> None:
        """The thread's row, which a new thread begins with."""
        self.take(lease)
        self.key = lease[0]
        connection.execute(_BEGUN, (self.key, self.thread_id, *lease))

    def free(self) -> None:
        """Nobody holds the thread. Less is remembered of it from now on: there may be many such."""
        self.token = self.holder = self.expires_at = self.process = None
        self.texts = {}

    # -- what a commit looks up --------------------------------------------------------------------------------------

    def look(self, connection: sqlite3.Connection) -> None:
        """Look up, before anything of a commit is changed, what is known from then on: the little values of the latest checkpoint, and
        which entries lie in rows."""
        if self.pieces is None:
            self.pieces = {}
            if self.latest is not None:
                try:
                    self.pieces = _small.pieces(connection.execute(_SMALL, (self.key, self.latest.number)).fetchone()[0])
                except (ValueError, TypeError) as error:
                    raise Damage(f"the values of checkpoint '{self.latest.id}' of thread '{self.thread_id}': {error}") from error
            self.size = sum(map(len, self.pieces.values()))
        self.heads.look(connection, self.key)

    def head(self, connection: sqlite3.Connection, at: tuple[str, str]) -> Head | None:
        """The entry that is kept in rows, if there is one of that section and name."""
        return self.heads.find(connection, self.key, at)

    def remember(self, row: int, value: bytes) -> None:
        """The value of a row that this commit wrote: when it is closed, others may refer to it."""
        if len(value) > _LONGEST:
            return
        if len(self.texts) >= _TEXTS:
            del self.texts[next(iter(self.texts))]
        self.texts[row] = value

    def forget(self) -> None:
        """What was looked up is no longer so."""
        self.pieces, self.heads, self.texts = None, Heads(), {}


def first_of(connection: sqlite3.Connection, statement: str, thread_id: str) -> tuple[Any, ...] | None:
    """What a statement finds first of the thread of that id."""
    try:
        return connection.execute(statement, (thread_id,)).fetchone()
    except UnicodeEncodeError:  # what is not Unicode is nothing's id
        return None


def _mark(number: int | None, run: int | None, name: str | None, run_id: str | None) -> Mark | None:
    if number is None:
        return None
    if run is None or run_id is None:
        raise Damage("a checkpoint that the row of a thread refers to is missing")
    if not isinstance(run_id, str) or (name is not None and not isinstance(name, str)):  # pyright: ignore[reportUnnecessaryIsInstance]  # read from a file
        raise Damage("the id of a checkpoint that the row of a thread refers to is no text")
    return Mark(number, run, name, id_of(run_id, number, name))

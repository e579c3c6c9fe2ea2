"""One row of the threads table, read once at the start of a change and written once at its end."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from .._clock import from_microseconds, to_microseconds
from .._types import Claim
from ._process import ProcessMark, provably_dead
from ._schema import FIRST_SEQ

_COLUMNS = (
    "seq, checkpoint_id, settled_seq, settled_id, graph_id, status, created_at, updated_at, next_event, floor, writes,"
    " token, holder, expires_at, process"
)
_SELECT = f"SELECT thread_id, id, {_COLUMNS} FROM llm4s_thread WHERE thread_id = ?"
_UPDATE = f"UPDATE llm4s_thread SET {', '.join(f'{name.strip()} = ?' for name in _COLUMNS.split(','))} WHERE id = ?"
_INSERT = f"INSERT INTO llm4s_thread (thread_id, {_COLUMNS}) VALUES ({', '.join('?' * 16)})"


@dataclass(slots=True)
class ThreadRow:
    """A thread as its row tells it; times in microseconds. `key` is None until the row exists."""

    thread_id: str
    key: int | None = None
    seq: int | None = None
    checkpoint_id: str | None = None
    settled_seq: int | None = None
    settled_id: str | None = None
    graph_id: str | None = None
    status: str | None = None
    created_at: int | None = None
    updated_at: int | None = None
    next_event: int = 1
    floor: int = 1
    writes: int = 0
    token: int | None = None
    holder: str | None = None
    expires_at: int | None = None
    process: str | None = None

    @classmethod
    def load(cls, connection: sqlite3.Connection, thread_id: str) -> ThreadRow | None:
        row = connection.execute(_SELECT, (thread_id,)).fetchone()
        return cls(*row) if row else None

    def save(self, connection: sqlite3.Connection) -> int:
        """Write the row; returns its key."""
        if self.key is None:
            self.key = connection.execute(_INSERT, (self.thread_id, *self._values())).lastrowid
            assert self.key is not None
        else:
            connection.execute(_UPDATE, (*self._values(), self.key))
        return self.key

    def _values(self) -> tuple[str | int | None, ...]:
        """In the order of _COLUMNS; written out because it is on the way of every commit."""
        return (
            self.seq, self.checkpoint_id, self.settled_seq, self.settled_id, self.graph_id, self.status, self.created_at, self.updated_at,
            self.next_event, self.floor, self.writes, self.token, self.holder, self.expires_at, self.process,
        )  # fmt: skip

    @property
    def next_seq(self) -> int:
        return FIRST_SEQ if self.seq is None else self.seq + 1

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

    def take(self, claim: Claim, mark: ProcessMark | None) -> None:
        self.token, self.holder = claim.token, claim.holder
        self.expires_at = to_microseconds(claim.expires_at)
        self.process = mark.to_text() if mark else None

    def free(self) -> None:
        self.token = self.holder = self.expires_at = self.process = None

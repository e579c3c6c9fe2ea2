"""The SQLite store keeps the contract of every store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from llm4s_notebook.checkpoint import Checkpointer, SqliteCheckpointer
from llm4s_notebook.testing import CheckpointerContract, ManualClock


class TestSqliteCheckpointer(CheckpointerContract):
    durable = True

    def make(self, place: Path, clock: ManualClock) -> Checkpointer:
        return SqliteCheckpointer(place / "threads.db", synchronous="normal", clock=clock)

    async def stored(self, store: Checkpointer, place: Path) -> bytes:
        """The database, its log and the log's index, as they lie on the disk."""
        return b"".join(file.read_bytes() for file in sorted(place.iterdir()))  # noqa: ASYNC240 - small files of a test

    async def set_format(self, store: Checkpointer, place: Path, checkpoint_id: str, number: int | None) -> None:
        with sqlite3.connect(place / "threads.db") as connection:
            n = int(checkpoint_id.rpartition("/")[2])
            connection.execute("UPDATE llm4s_checkpoint SET format = ? WHERE number = ?", (number, n))
        connection.close()

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harness.texts import texts
from peers.floor import FileLog, decode, encode


class Inbox:
    repeats = 7

    def __init__(self, log: FileLog) -> None:
        self.log = log

    async def fill(self, threads: int, waiting: int) -> None:
        said = texts(50)
        rows = [(f"t{i}", j, encode({"n": j, "said": said[i % 50]})) for i in range(threads) for j in range(4)]
        every = threads // waiting
        self.log.commit(rows=rows, wait=[(f"t{i * every}", "ask:0", encode({"q": i, "text": "approve?"})) for i in range(waiting)])

    async def waiting(self, limit: int) -> list[Any]:
        rows = self.log.connection.execute("SELECT thread, task, payload FROM waiting LIMIT ?", (limit,))
        return [(thread, task, decode(payload)) for thread, task, payload in rows]


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Inbox]:
    log = FileLog(path, store)
    yield Inbox(log)
    log.close()

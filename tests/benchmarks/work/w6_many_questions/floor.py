from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from peers.floor import FileLog, encode


class Thread:
    def __init__(self, log: FileLog, name: str, n: int) -> None:
        self.log = log
        self.name = name
        self.n = n
        self.bodies = 0
        self.total = 0

    async def work(self, i: int) -> dict[str, list[int]]:
        self.bodies += 1
        return {"out": [i * 2]}

    async def suspend(self) -> int:
        waiting = [(self.name, f"w:{i:06}", encode({"q": i})) for i in range(self.n)]
        self.log.commit(rows=[(self.name, 0, encode({"items": list(range(self.n))}))], wait=waiting)
        return len(waiting)

    async def waiting(self) -> list[str]:
        rows = self.log.connection.execute("SELECT task, payload FROM waiting WHERE thread = ?", (self.name,))
        return [task for task, _ in rows]

    async def answer(self, ids: list[str]) -> None:
        if len(ids) == 1:
            await self._answer_one(ids[0])
            return
        numbers = [int(id[2:]) for id in ids]
        results = await asyncio.gather(*[self.work(i) for i in numbers])
        self.total += sum(result["out"][0] for result in results)
        rows = [(self.name, i + 1, encode(result)) for i, result in zip(numbers, results, strict=True)]
        self.log.commit(rows=rows, done=[(self.name, id) for id in ids])

    async def _answer_one(self, id: str) -> None:
        i = int(id[2:])
        result = await self.work(i)
        self.total += result["out"][0]
        self.log.commit(rows=[(self.name, i + 1, encode(result))], done=[(self.name, id)])


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Thread]]:
    log = FileLog(path, store)
    yield partial(Thread, log)
    log.close()

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.floor import encode, log_of


async def work(i: int) -> dict[str, list[int]]:
    return {"out": [i * 2]}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    log = log_of(store, path)

    async def fan_out(thread: str, n: int) -> int:
        results = await asyncio.gather(*[work(i) for i in range(n)])
        out: list[int] = []
        for result in results:
            out.extend(result["out"])
        if log:
            log.commit(rows=[(thread, i, encode(result)) for i, result in enumerate(results)])
        return sum(out)

    yield fan_out
    if log:
        log.close()

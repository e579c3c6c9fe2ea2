from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.floor import encode, log_of


async def a(state: dict[str, Any]) -> dict[str, Any]:
    return {"n": state["n"] + 1, "last": "a"}


async def b(state: dict[str, Any]) -> dict[str, Any]:
    return {"n": state["n"] + 1, "last": "b"}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, int], Awaitable[int]]]:
    log = log_of(store, path)
    in_tasks = store in ("none", "memory")

    async def supersteps(thread: str, n: int) -> int:
        state: dict[str, Any] = {"n": 0, "last": ""}
        node = a
        while state["n"] < n:
            update = await (asyncio.create_task(node(state)) if in_tasks else node(state))
            state = {**state, **update}
            if log:
                log.commit(rows=[(thread, state["n"], encode(update))])
            node = b if node is a else a
        return state["n"]

    yield supersteps
    if log:
        log.close()

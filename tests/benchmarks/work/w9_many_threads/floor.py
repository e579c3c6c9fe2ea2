from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.floor import FileLog, GroupWriter, MemoryLog, encode, log_of


async def answers(state: dict[str, Any], answer: str) -> dict[str, str]:
    return {"role": "assistant", "content": answer, "id": "a"}


async def finish(state: dict[str, Any]) -> dict[str, bool]:
    return {"done": True}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, str, str], Awaitable[int]]]:
    log = log_of(store, path)
    writer = GroupWriter(log) if isinstance(log, FileLog) else None

    async def save(thread: str, seq: int, update: Any) -> None:
        if writer:
            await writer.commit((thread, seq, encode(update)))
        elif isinstance(log, MemoryLog):
            log.commit(rows=[(thread, seq, encode(update))])

    async def turn(thread: str, said: str, answer: str) -> int:
        state: dict[str, Any] = {"messages": [{"role": "user", "content": said, "id": "u"}], "done": False}
        if log:
            await save(thread, 0, state)
        message = await answers(state, answer)
        state["messages"].append(message)
        if log:
            await save(thread, 1, message)
        update = await finish(state)
        state.update(update)
        if log:
            await save(thread, 2, update)
        return len(state["messages"])

    yield turn
    if writer:
        writer.close()
    if log:
        log.close()

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.floor import FileLog, GroupWriter, encode


async def answers(state: dict[str, Any], answer: str) -> dict[str, str]:
    return {"role": "assistant", "content": answer, "id": "a"}


async def finish(state: dict[str, Any]) -> dict[str, bool]:
    return {"done": True}


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, str, str], Awaitable[int]]]:
    log = FileLog(path, store) if store in ("normal", "full") else None
    writer = GroupWriter(log) if log else None
    kept: list[bytes] | None = [] if store == "memory" else None

    async def turn(thread: str, said: str, answer: str) -> int:
        state: dict[str, Any] = {"messages": [{"role": "user", "content": said, "id": "u"}], "done": False}
        if writer:
            await writer.commit((thread, 0, encode(state)))
        elif kept is not None:
            kept.append(encode(state))
        message = await answers(state, answer)
        state["messages"].append(message)
        if writer:
            await writer.commit((thread, 1, encode(message)))
        elif kept is not None:
            kept.append(encode(message))
        update = await finish(state)
        state.update(update)
        if writer:
            await writer.commit((thread, 2, encode(update)))
        elif kept is not None:
            kept.append(encode(update))
        return len(state["messages"])

    yield turn
    if log and writer:
        writer.close()
        log.close()

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.floor import FileLog, decode, encode


async def bot(messages: list[Any], answer: str) -> dict[str, str]:
    return {"role": "assistant", "content": answer, "id": f"a{len(messages)}"}


@asynccontextmanager
async def opened(store: str, path: Path, hot: bool) -> AsyncIterator[Callable[[str, str], Awaitable[int]]]:
    log = FileLog(path, store)
    messages: list[Any] = []

    async def turn(said: str, answer: str) -> int:
        nonlocal messages
        if not hot:
            messages = [decode(body) for body in log.bodies("t")]
        question = {"role": "user", "content": said, "id": f"u{len(messages)}"}
        messages.append(question)
        log.commit(rows=[("t", len(messages), encode(question))])
        message = await bot(messages, answer)
        messages.append(message)
        log.commit(rows=[("t", len(messages), encode(message))])
        return len(messages)

    yield turn
    log.close()

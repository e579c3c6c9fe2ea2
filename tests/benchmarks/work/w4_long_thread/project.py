from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.project import checkpointer_of
from pydantic import BaseModel

from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, StateKey, ThreadState


class Message(BaseModel, frozen=True):
    role: str
    content: str
    id: str


MESSAGES = StateKey.appending("messages", Message)


@asynccontextmanager
async def opened(store: str, path: Path, hot: bool) -> AsyncIterator[Callable[[str, str], Awaitable[int]]]:
    next_answer = ""
    builder = GraphBuilder("chat", version="1")

    @builder.node("bot", writes=MESSAGES)
    async def bot(said: Message, state: ThreadState) -> Command:
        answer = Message(role="assistant", content=next_answer, id=f"a{len(state[MESSAGES])}")
        return Command().update(MESSAGES, said).update(MESSAGES, answer)

    graph = builder.compile(bot, output=lambda state: len(state[MESSAGES]))

    async with checkpointer_of(store, path) as checkpointer:
        runtime = GraphRuntime(checkpointer)
        count = 0

        async def turn(said: str, answer: str) -> int:
            nonlocal next_answer, count, runtime
            next_answer = answer
            if not hot:
                await runtime.aclose()
                runtime = GraphRuntime(checkpointer)
            handle = await runtime.start("t", graph, Message(role="user", content=said, id=f"u{count}"))
            done = await handle
            count = done.output
            return count

        yield turn
        await runtime.aclose()

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from harness.texts import texts
from peers.project import checkpointer_of
from pydantic import BaseModel

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend

SAID = StateKey.replace("said", str, initial="")
GOT = StateKey.replace("got", str, initial="")
decode = msgspec.json.Decoder().decode
TOGETHER = 500
"""Threads that run at once while the file is filled."""


class Question(BaseModel):
    q: int
    text: str


class Given(BaseModel):
    said: str
    asks: Question | None


class Inbox:
    repeats = 7

    def __init__(self, store: Checkpointer) -> None:
        self.store = store

    async def fill(self, threads: int, waiting: int) -> None:
        builder = GraphBuilder("asks", version="1")
        answered = builder.declare_resume("answered", question=Question, answer=str)

        @builder.node("ask", writes=GOT, routes=answered)
        async def ask(question: Question | None) -> Suspend[Question, str] | Command:
            return Suspend(question, answered) if question else Command().update(GOT, "nothing to ask")

        @builder.node("work", writes=SAID, routes=ask)
        async def work(given: Given) -> Command:
            return Command().update(SAID, given.said).send(ask, given.asks)

        @builder.implement(answered, writes=GOT)
        async def answered_node(given: Resumed[Question, str]) -> Command:
            return Command().update(GOT, given.answer)

        graph = builder.compile(work, output=lambda state: state[GOT])
        runtime = GraphRuntime(self.store)
        said = texts(50)
        every = threads // waiting
        asks = [None if i % every else Question(q=i, text="approve?") for i in range(threads)]
        given = [Given(said=said[i % 50], asks=asks[i]) for i in range(threads)]
        for first in range(0, threads, TOGETHER):
            some = range(first, min(first + TOGETHER, threads))
            await asyncio.gather(*[runtime.run(f"t{i}", graph, given[i]) for i in some])
        await runtime.aclose()

    async def waiting(self, limit: int) -> list[Any]:
        found = await self.store.threads(status=CheckpointStatus.SUSPENDED, limit=limit)
        return [(one.thread_id, waiting.id, decode(waiting.record)) for one in found for waiting in one.waiting]


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Inbox]:
    async with checkpointer_of(store, path) as checkpointer:
        yield Inbox(checkpointer)

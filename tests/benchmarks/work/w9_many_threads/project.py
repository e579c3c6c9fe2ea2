from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.project import run, runtime_of
from pydantic import BaseModel

from llm4s_notebook.graph import Command, GraphBuilder, StateKey


class Message(BaseModel, frozen=True):
    role: str
    content: str
    id: str


MESSAGES = StateKey.appending("messages", Message)
DONE = StateKey.replace("done", bool, initial=False)


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str, str, str], Awaitable[int]]]:
    by_question: dict[str, str] = {}
    builder = GraphBuilder("chat", version="1")
    finish = builder.declare("finish")

    @builder.node("answers", writes=MESSAGES)
    async def answers(said: Message) -> Command:
        answer = Message(role="assistant", content=by_question[said.content], id="a")
        return Command().update(MESSAGES, said).update(MESSAGES, answer)

    @builder.implement(finish, writes=DONE)
    async def finish_node() -> Command:
        return Command().update(DONE, True)

    builder.edge(answers, finish)
    graph = builder.compile(answers, output=lambda state: len(state[MESSAGES]))

    async with runtime_of(store, path) as runtime:

        async def turn(thread: str, said: str, answer: str) -> int:
            by_question[said] = answer
            return (await run(runtime, graph, Message(role="user", content=said, id="u"), thread)).output

        yield turn

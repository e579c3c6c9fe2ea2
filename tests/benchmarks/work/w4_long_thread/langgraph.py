from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from peers.langgraph import invoke, saver_of


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


@asynccontextmanager
async def opened(store: str, path: Path, hot: bool) -> AsyncIterator[Callable[[str, str], Awaitable[int]]]:
    next_answer = ""

    async def bot(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(next_answer, id=f"a{len(state['messages'])}")]}

    builder = StateGraph(State)
    builder.add_node("bot", bot)
    builder.add_edge(START, "bot")
    builder.add_edge("bot", END)
    async with saver_of(store, path) as saver:
        graph = builder.compile(checkpointer=saver)
        count = 0

        async def turn(said: str, answer: str) -> int:
            nonlocal next_answer, count
            next_answer = answer
            done = await invoke(graph, {"messages": [HumanMessage(said, id=f"u{count}")]})
            count = len(done["messages"])
            return count

        yield turn

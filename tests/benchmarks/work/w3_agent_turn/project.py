from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from peers.project import runtime_of

from llm4s_notebook.agent import Agent, tool
from llm4s_notebook.models import ScriptedClient, ToolCall, calls

from . import ANSWER, ARGUMENTS, QUESTION


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str], Awaitable[int]]]:
    script = [calls(ToolCall("c1", "weather", ARGUMENTS)), ANSWER] * 1000
    async with runtime_of(store, path) as runtime:
        agent = Agent("assistant", ScriptedClient(*script), tools=weather, runtime=runtime)

        async def turn(thread: str) -> int:
            result = await agent.run(QUESTION, thread_id=thread)
            return len(result.messages)

        yield turn

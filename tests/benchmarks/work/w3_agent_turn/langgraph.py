from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from peers.langgraph import invoke, saver_of

from . import ANSWER, ARGUMENTS, QUESTION


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        if isinstance(messages[-1], HumanMessage):
            said = AIMessage("", tool_calls=[{"name": "weather", "args": ARGUMENTS, "id": "c1"}])
        else:
            said = AIMessage(ANSWER)
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return self._generate(messages)


@tool
async def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str], Awaitable[int]]]:
    async with saver_of(store, path) as saver:
        agent = create_agent(Scripted(), [weather], checkpointer=saver)

        async def turn(thread: str) -> int:
            done = await invoke(agent, {"messages": [{"role": "user", "content": QUESTION}]}, thread)
            return len(done["messages"])

        yield turn

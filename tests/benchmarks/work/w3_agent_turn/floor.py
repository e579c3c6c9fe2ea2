from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from peers.floor import encode, log_of
from pydantic import BaseModel, TypeAdapter

from . import ANSWER, ARGUMENTS, QUESTION


class Call(msgspec.Struct):
    id: str
    name: str
    arguments: str


class Message(msgspec.Struct):
    role: str
    content: str
    id: str
    calls: list[Call] | None = None


class Weather(BaseModel):
    city: str


WEATHER = TypeAdapter(Weather)
ARGUMENTS_JSON = json.dumps(ARGUMENTS)


async def weather(arguments: Weather) -> str:
    return f"sunny in {arguments.city}"


def model(messages: list[Message]) -> Message:
    if messages[-1].role == "user":
        return Message("assistant", "", "a1", [Call("c1", "weather", ARGUMENTS_JSON)])
    return Message("assistant", ANSWER, "a2")


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Callable[[str], Awaitable[int]]]:
    log = log_of(store, path)

    async def turn(thread: str) -> int:
        messages = [Message("user", QUESTION, "u1")]

        def add(message: Message) -> None:
            messages.append(message)
            if log:
                log.commit(rows=[(thread, len(messages), encode(message))])

        while True:
            said = model(messages)
            add(said)
            if not said.calls:
                return len(messages)
            running = [asyncio.create_task(weather(WEATHER.validate_json(call.arguments))) for call in said.calls]
            for call, result in zip(said.calls, await asyncio.gather(*running), strict=True):
                add(Message("tool", result, call.id))

    yield turn
    if log:
        log.close()

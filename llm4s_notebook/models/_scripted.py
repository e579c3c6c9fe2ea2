"""A chat client that replays a script: for tests, lessons and demos that must go the same way every time."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from ._client import Completion, Delta, ModelRequest
from ._message import AssistantMessage, ToolCall
from ._usage import Usage

Step: TypeAlias = "str | AssistantMessage | Completion | BreaksOff | BaseException | type[BaseException] | Callable[[ModelRequest], object]"

_USAGE = Usage(10, 20)
_BRIEF = 200  # characters of a wrong step that its error shows


def calls(*tool_calls: ToolCall, text: str | None = None) -> AssistantMessage:
    """A script step: an assistant message that asks for these tool calls."""
    return AssistantMessage(text, tool_calls)


@dataclass(frozen=True, slots=True)
class BreaksOff:
    """A script step: an answer whose stream ends with `error` after so many pieces; asked for as a whole it only raises."""

    text: str
    after: int
    error: BaseException

    def __post_init__(self) -> None:
        if self.after < 0:
            raise ValueError("after must be at least 0")


class ScriptExhausted(Exception):
    """The script has no step for this request; `calls` is the number of requests sent, this one included."""

    def __init__(self, calls: int, steps: int) -> None:
        self.calls = calls
        super().__init__(f"the script has {steps} step{'s' if steps != 1 else ''} and was asked {calls} times")


class ScriptedClient:
    """Answer the first request with the first step, the second with the second, and so on.

    A `str` is a final answer, `calls(…)` a message with tool calls, a `Completion` goes out as it is (so may be without
    usage), an exception is raised, `BreaksOff(text, after, error)` streams a part and raises, and a callable (async or plain)
    is given the request and returns any of these. `requests` holds every request it was sent. Streaming cuts the text into
    pieces of `chunk_size` characters and waits `delay` seconds before each. One client may be used from several threads and
    loops.
    """

    def __init__(
        self, *steps: Step, usage: Usage | None = _USAGE, model: str = "scripted", chunk_size: int = 8, delay: float = 0.0
    ) -> None:
        if chunk_size < 1:
            raise ValueError("chunk_size must be at least 1")
        if delay < 0:
            raise ValueError("delay must be at least 0 seconds")
        self.steps = steps
        self.usage = usage
        self.model = model
        self.chunk_size = chunk_size
        self.delay = delay
        self.requests: list[ModelRequest] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ScriptedClient({len(self.steps)} steps, {len(self.requests)} requests)"

    async def complete(self, request: ModelRequest) -> Completion:
        """Play the next step. Raises what the step says, or ScriptExhausted after the last one."""
        played = await self._play(self._next(request), request)
        if isinstance(played, BreaksOff):
            raise played.error
        return played

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Play the next step in pieces; the last delta carries the completion."""
        played = await self._play(self._next(request), request)
        text = played.text if isinstance(played, BreaksOff) else played.message.content or ""
        pieces = [text[start : start + self.chunk_size] for start in range(0, len(text), self.chunk_size)]
        for piece in pieces[: played.after] if isinstance(played, BreaksOff) else pieces:
            await asyncio.sleep(self.delay)
            yield Delta(text=piece)
        if isinstance(played, BreaksOff):
            raise played.error
        yield Delta(completion=played)

    def _next(self, request: ModelRequest) -> object:
        with self._lock:
            self.requests.append(request)
            at = len(self.requests) - 1
        if at >= len(self.steps):
            raise ScriptExhausted(at + 1, len(self.steps))
        return self.steps[at]

    async def _play(self, step: object, request: ModelRequest) -> Completion | BreaksOff:
        if isinstance(step, str):
            return Completion(AssistantMessage(step), self.usage, self.model)
        if isinstance(step, AssistantMessage):
            return Completion(step, self.usage, self.model)
        if isinstance(step, Completion | BreaksOff):
            return step
        if isinstance(step, BaseException):
            raise step
        if isinstance(step, type) and issubclass(cast(type[object], step), BaseException):
            raise cast(type[BaseException], step)
        if callable(cast(object, step)):
            made: object = cast(Callable[[ModelRequest], object], step)(request)
            return await self._play(await made if inspect.isawaitable(made) else made, request)
        raise TypeError(f"a script step is a str, calls(…), a Completion, BreaksOff, an exception or a callable, not {_brief(step)}")


def _brief(value: object) -> str:
    """The value as Python writes it; of a long text the beginning, and how long it is."""
    text = repr(value)
    return text if len(text) <= _BRIEF else f"{text[:_BRIEF]}… ({len(text):,} characters)"

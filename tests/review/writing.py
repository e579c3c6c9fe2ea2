"""A model that writes what a test puts in, when the test says so; and a view of it without a browser."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.agent import Agent, tool
from llm4s_notebook.models import AssistantMessage, Completion, Delta, ModelRequest, Retry, ToolCall, ToolCallDelta, Usage, tell_retry
from llm4s_notebook.review import Session
from llm4s_notebook.wire import LiveView, MessageView, Pieces, SessionState

from ..waiting import until as until

Gate = asyncio.Event


@tool
async def look_up(order: str) -> str:
    """Look an order up."""
    return f"{order} is on its way"


@tool
async def log_in(user: str, password: SecretStr) -> str:
    """Log in."""
    return user


def session_of(client: Any, **settings: Any) -> Session:
    return Session(Agent("support", client, stream=True, **settings), "t")


class Typing:
    """Its n-th call plays the n-th script: a text, a piece or a whole completion is streamed, a gate waited for, a retry told, an error
    raised."""

    def __init__(self, *scripts: Sequence[Any]) -> None:
        self.scripts = scripts
        self.calls = 0

    async def complete(self, request: ModelRequest) -> Completion:
        made = [delta.completion async for delta in self.stream(request)]
        assert made[-1] is not None
        return made[-1]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        script = self.scripts[self.calls]
        self.calls += 1
        for step in script:
            match step:
                case Gate():
                    await step.wait()
                case Retry():
                    tell_retry(step)
                case Exception():
                    raise step
                case str():
                    yield Delta(text=step)
                case Completion():
                    yield Delta(completion=step)
                case _:
                    yield step


def done(text: str | None, *calls: ToolCall) -> Completion:
    """The completion that ends a script."""
    return Completion(AssistantMessage(text, calls), Usage(312, 41), "typing")


def call_piece(index: int, id: str, name: str, arguments: str = "") -> Delta:
    return Delta(tool_call=ToolCallDelta(index, id, name, arguments))


class Page:
    """What a view draws: the last document, and what is written as the pieces since have continued it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.pieces: list[Pieces] = []
        self.documents: list[SessionState] = []
        self.frames: list[list[MessageView]] = []
        self._document(session.state())
        self._stops = (session.observe(self._document), session.observe_writing(self._continue))

    def _document(self, document: SessionState) -> None:
        self.documents.append(document)
        self.live = document.live
        self._frame()

    def _continue(self, pieces: Pieces) -> None:
        self.pieces.append(pieces)
        assert pieces.number == self.live.number + 1, "a piece is missing"
        messages = [_continued(message, pieces) for message in self.live.messages]
        assert {piece.id for piece in pieces.pieces} <= {message.id for message in messages}, "a piece of a message that no document had"
        self.live = LiveView(number=pieces.number, waiting=pieces.waiting, messages=messages)
        self._frame()

    def _frame(self) -> None:
        frame = [*self.documents[-1].messages, *self.live.messages]
        assert len({message.id for message in frame}) == len(frame), "a message that is stored and written at once"
        self.frames.append(frame)

    @property
    def drawn(self) -> list[str]:
        """The texts of the transcript, as drawn now."""
        return [message.text for message in self.frames[-1]]

    @property
    def last(self) -> str:
        """The last of them."""
        return self.drawn[-1] if self.drawn else ""

    @property
    def written(self) -> MessageView:
        """The one message that is being written."""
        (message,) = self.live.messages
        return message

    def texts_of(self, id: str) -> list[str]:
        """How a message's text was drawn from frame to frame, without repeats."""
        texts = [message.text for frame in self.frames for message in frame if message.id == id]
        return [text for at, text in enumerate(texts) if at == 0 or texts[at - 1] != text]

    def close(self) -> None:
        for stop in self._stops:
            stop()


def _continued(message: MessageView, pieces: Pieces) -> MessageView:
    for piece in pieces.pieces:
        if piece.id == message.id:
            calls = [
                call.model_copy(update={"arguments": f"{call.arguments}{more}"})
                for call, more in zip(message.tool_calls, piece.arguments, strict=True)
            ]
            return message.model_copy(update={"note": piece.note, "text": message.text + piece.text, "tool_calls": calls})
    return message


def written_as_drawn(monkeypatch: pytest.MonkeyPatch, page: Page, chunk_size: int) -> None:
    """The scripted client's delay stands for a look at the page: each piece comes when those before it are drawn."""
    pieces = itertools.count()

    async def sleep(_seconds: float) -> None:
        wanted = chunk_size * next(pieces)
        await until(lambda: sum(len(message.text) for message in page.live.messages) == wanted)

    monkeypatch.setattr("llm4s_notebook.models._scripted.asyncio", SimpleNamespace(sleep=sleep))

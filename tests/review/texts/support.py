"""Guardrails and reviews for the tests of many texts."""

from __future__ import annotations

import asyncio
from typing import Any

from llm4s_notebook.errors import Refused
from llm4s_notebook.guardrails import LengthCheck, WordList
from llm4s_notebook.review import TextSession

PROMISES = WordList(["guaranteed"], name="no promises")
SHORT = LengthCheck(max=20, name="short")
TEXTS = ["fine", "it is guaranteed", "guaranteed, and far too long for it", "so long that it is refused"]


class Fails:
    """Cannot judge a text that holds "boom"; a plain function."""

    name = "fails"

    def check(self, text: str) -> str:
        if "boom" in text:
            raise LookupError("no such model")
        return text


class Upper:
    """Changes every text."""

    name = "upper"

    async def check(self, text: str) -> str:
        return text.upper()


class Gate:
    """Lets so many texts pass at once and the others when it is opened; counts how many wait, and refuses what holds "bad"."""

    name = "gate"

    def __init__(self, passing: int = 0) -> None:
        self.open = asyncio.Event()
        self.passing = passing
        self.waiting = 0
        self.most = 0
        self.seen: list[str] = []

    async def check(self, text: str) -> str:
        self.seen.append(text)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            if len(self.seen) > self.passing:
                await self.open.wait()
        finally:
            self.waiting -= 1
        if "bad" in text:
            raise Refused("it is bad")
        return text


async def checked(texts: Any = TEXTS, *guardrails: Any, **settings: Any) -> TextSession:
    """A session whose guardrails have run."""
    session = TextSession(texts, guardrails or (PROMISES, SHORT), **settings)
    await session.run()
    return session


def ids(session: TextSession) -> list[Any]:
    """The ids of what is refused."""
    return [refusal.id for refusal in session.refusals]

"""A view of a text review without a browser: sends requests and keeps what comes back."""

from __future__ import annotations

from itertools import count
from typing import Any

from llm4s_notebook.review import TextSession

from ..turns import until

_NUMBERS = count(1)  # two views of one session never use one id twice


class Browser:
    """One view."""

    def __init__(self, session: TextSession) -> None:
        self.session = session
        self.received: list[Any] = []
        session.observe_messages(self.received.append)

    def send(self, content: object) -> None:
        self.session.handle(content, self.received.append)

    def replies(self, request_id: str) -> list[Any]:
        return [message for message in self.received if getattr(message, "request_id", None) == request_id]

    def pushed(self, kind: str) -> list[Any]:
        return [message for message in self.received if message.kind == kind and not hasattr(message, "request_id")]

    async def ask(self, request_id: str | None = None, **body: Any) -> Any:
        """Send a request and wait for its reply."""
        request_id = request_id or f"r{next(_NUMBERS)}"
        before = len(self.replies(request_id))
        self.send({"request_id": request_id, "body": body})
        await until(lambda: len(self.replies(request_id)) > before)
        return self.replies(request_id)[-1]

    async def find(self, show: str = "refused", verdict: str = "any", guardrail: str | None = None, search: str = "") -> Any:
        return await self.ask(kind="find", show=show, verdict=verdict, guardrail=guardrail, search=search)

    async def decide(self, position: int, verdict: str, text: str | None = None, note: str | None = None, **more: Any) -> Any:
        return await self.ask(kind="decide", position=position, verdict=verdict, text=text, note=note, **more)

"""The browser's side of a session, for tests without a browser."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.review import Session

from .turns import until


class Browser:
    """Sends requests to a session and keeps what comes back."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.received: list[Any] = []
        self._count = 0
        session.observe_drafts(self.received.append)

    def send(self, content: object) -> None:
        self.session.handle(content, self.received.append)

    def replies(self, request_id: str) -> list[Any]:
        return [message for message in self.received if getattr(message, "request_id", None) == request_id]

    async def ask(self, request_id: str | None = None, **body: Any) -> Any:
        """Send a request and wait for its reply."""
        if request_id is None:
            self._count += 1
            request_id = f"r{self._count}"
        before = len(self.replies(request_id))
        self.send({"request_id": request_id, "body": body})
        await until(lambda: len(self.replies(request_id)) > before)
        return self.replies(request_id)[-1]

    async def submit(self, *decisions: dict[str, Any]) -> Any:
        return await self.ask(kind="submit", decisions=list(decisions))


async def settled(session: Session) -> None:
    await until(lambda: not session.running and session.state().status != "running")

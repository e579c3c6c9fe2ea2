"""Gemini's connections, so that a stream that is left can be closed at once (M3.4).

Its SDK closes a connection when its iterator is collected, and the iterator is part of a cycle: that may be much later. So the
HTTP client is one that notes the responses it opens for whoever asked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from httpx2 import Response
    from pydantic_ai.models import Model

_LONGEST_WAIT = 1200.0
"""Seconds without a byte; what the library has for Gemini. The option `timeout` of each request is what counts (M1.4)."""
_CONNECT = 5.0

_opened: ContextVar[list[Response] | None] = ContextVar("_opened", default=None)


@contextlib.contextmanager
def responses_opened() -> Generator[list[Response], None, None]:
    """The responses that the block opens with a client that notes them; all other clients note none."""
    noted: list[Response] = []
    token = _opened.set(noted)
    try:
        yield noted
    finally:
        _opened.reset(token)


async def _note(response: Response) -> None:
    noted = _opened.get()
    if noted is not None:
        noted.append(response)


def google_model(model: str, base_url: str | None, key: str) -> Model[Any]:
    """The library's model, over an HTTP client of ours that is closed with it."""
    import httpx2
    from pydantic_ai.models import create_async_httpx2_client
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    http = create_async_httpx2_client(timeout=httpx2.Timeout(_LONGEST_WAIT, connect=_CONNECT))
    http.event_hooks = {**http.event_hooks, "response": [*http.event_hooks["response"], _note]}

    class Provider(GoogleProvider):
        async def __aexit__(self, *error: Any) -> bool | None:
            await http.aclose()
            return await super().__aexit__(*error)

    return GoogleModel(model, provider=Provider(api_key=key, base_url=base_url, http_client=http))

"""What a client tells while it waits to send a request again (M3.5)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and is sent again: as number `attempt` (from 2), after `seconds`. `fault` says why, as in M4.2."""

    attempt: int
    seconds: float
    fault: str


# Whoever called the client. A context variable reaches it through wrappers and clients around clients, streaming or not.
retry_listener: ContextVar[Callable[[Retry], None] | None] = ContextVar("llm4s_retry_listener", default=None)


def tell_retry(retry: Retry) -> None:
    """Tell whoever waits for this call, so that a person sees it; a client of your own may, before it waits. Does nothing elsewhere."""
    listener = retry_listener.get()
    if listener is not None:
        listener(retry)

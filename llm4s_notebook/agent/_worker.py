"""Call a user's function, async or plain (D24)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..guardrails import in_worker


async def call_hook(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Await an async function on the loop; run a plain one in a worker thread."""
    made = function(*args, **kwargs) if inspect.iscoroutinefunction(function) else await in_worker(function, *args, **kwargs)
    return await made if inspect.isawaitable(made) else made

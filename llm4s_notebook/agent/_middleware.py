"""What a middleware may do around an agent's steps (4.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from ..graph import RunContext, StateKey
from ..models import Completion, ModelRequest
from ._asked import Asked
from ._context import ToolContext
from ._outcome import ToolOutcome
from ._tool import AgentTool
from ._tool_request import ToolCallRequest

NextModelCall: TypeAlias = Callable[[ModelRequest], Awaitable[Completion]]
NextToolCall: TypeAlias = Callable[[], Awaitable[ToolOutcome]]


class AgentMiddleware:
    """Hooks around an agent's steps; every one passes through unless overridden (4.1.1).

    Hooks of one batch of calls run at the same time, so a middleware's own state must stand that (4.1.7). A hook refuses by
    raising `Refused(reason)` or another `Llm4sError`; any other exception becomes `MiddlewareFailed` (D21). Both reach an
    enclosing wrapper as what its `await next(…)` raises.
    """

    id: str
    runs_before: Iterable[str] = frozenset()
    runs_after: Iterable[str] = frozenset()
    writes: Iterable[StateKey[Any, Any]] = frozenset()
    tools: Iterable[AgentTool | Callable[..., Any]] = ()

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        """See the turn's query; return it, changed or not. A refusal ends the turn, and nothing of it is stored."""
        return query

    async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
        """See the final answer; return it, changed or not. A refusal removes the turn."""
        return answer

    async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: NextModelCall) -> Completion | Asked:
        """Wrap one model call: rewrite the request, call `next` more than once, change or replace what it gives.

        A refusal fails the run. Leaving a tool out of the request only hides it: forbid a call in `wrap_tool_call` (4.1.2).
        """
        return await next(request)

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: NextToolCall) -> ToolOutcome:
        """Wrap one tool call, whose arguments are valid: deny, ask for approval, call `next` or not, change its outcome.

        Secret arguments are dots here, and alike whatever they stand for (3.8.2).
        """
        return await next()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self, 'id', '(no id)')}>"

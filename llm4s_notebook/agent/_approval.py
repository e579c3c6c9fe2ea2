"""Ask a person before a tool call runs (3.5.5)."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from ..errors import ConfigError
from ._context import ToolContext
from ._middleware import AgentMiddleware, NextToolCall
from ._outcome import NeedsApproval, ToolOutcome
from ._tool_request import ToolCallRequest


class ApprovalMiddleware(AgentMiddleware):
    """Ask for approval of every call for which `requires` returns a reason, unless it is approved already.

    A tool's own request for approval is independent of it. Give it to every agent whose tools it should gate (7.4).
    """

    def __init__(self, requires: Callable[[ToolCallRequest], str | None], id: str = "approval") -> None:
        """Raises: ConfigError for a `requires` that cannot be called or is async."""
        if not callable(requires) or inspect.iscoroutinefunction(requires):
            what = "async" if callable(requires) else f"{requires!r}"
            raise ConfigError(field=f"middleware '{id}'", problems=[f"requires is a plain function of the request, and not {what}"])
        self.requires = requires
        self.id = id

    @classmethod
    def unless_read_only(cls, id: str = "approval") -> ApprovalMiddleware:
        """Ask for every tool whose hints do not say that it only reads."""
        return cls(lambda request: None if request.spec.hints.read_only else f"tool '{request.spec.name}' is not read-only", id)

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: NextToolCall) -> ToolOutcome:
        if not context.approved:
            reason = self.requires(request)
            if reason is not None:  # in a guard, whatever is not a clear no asks
                return NeedsApproval(reason or f"tool '{request.spec.name}' needs approval")
        return await next()

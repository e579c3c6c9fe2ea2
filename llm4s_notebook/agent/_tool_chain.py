"""One tool call inside its wrappers, and who made the outcome (3.5.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from ..checkpoint import Value
from ..errors import Llm4sError, MiddlewareFailed, text_of
from ..models import ToolCall, thaw
from ._cancel import CancelWatch, superstep_forgets
from ._context import ToolContext
from ._family import Member
from ._middleware import AgentMiddleware
from ._outcome import OUTCOMES, Success, ToolError, ToolOutcome
from ._tool import AgentTool
from ._tool_request import ToolCallRequest


class Made(Value, frozen=True, gc=True):
    """An outcome and the layer that raised it: a middleware, or None for the tool."""

    outcome: ToolOutcome
    source: AgentMiddleware | None


@dataclass(slots=True)
class ToolChain:
    """Runs a tool at the centre of its agent's wrappers; used once. `body` is the tool's `execute` or `resume`.

    `conceal` takes the call's secrets out of what the tool says before any wrapper sees it (3.8.5).
    """

    member: Member
    tool: AgentTool
    call: ToolCall
    context: ToolContext
    body: Callable[[], Awaitable[ToolOutcome]]
    conceal: Callable[[ToolOutcome], ToolOutcome]
    _watch: CancelWatch = field(init=False)

    async def run(self) -> Made:
        """Raises: MiddlewareFailed, a wrapper's own refusal, or CancelledError - also when a wrapper swallowed it."""
        if not self.member.stack.tool and superstep_forgets(self.context.run):
            return Made(await self._centre(), None)
        self._watch = CancelWatch(self.context.run)
        with self._watch:
            try:
                return await self._layer(0)
            finally:
                self._watch.check_seen()

    async def _layer(self, depth: int) -> Made:
        self._watch.check()
        if depth == len(self.member.stack.tool):
            try:
                return Made(await self._centre(), None)
            except asyncio.CancelledError:
                self._watch.note()
                raise
        middleware = self.member.stack.tool[depth]
        inner: list[Made] = []
        passing: list[BaseException] = []

        async def following() -> ToolOutcome:
            try:
                made = await self._layer(depth + 1)
            except BaseException as raised:
                passing.append(raised)
                raise
            inner.append(made)
            return made.outcome

        try:
            request = ToolCallRequest(_copy_of(self.call), self.member.specs[self.tool.name])
            outcome: Any = await middleware.wrap_tool_call(request, self.context, following)
        except asyncio.CancelledError:
            self._watch.note()
            raise
        except Exception as raised:
            self._watch.check_seen()
            if isinstance(raised, Llm4sError) or any(raised is one for one in passing):
                raise
            raise self._failed(middleware, raised) from raised
        self._watch.check_seen()
        for made in inner:
            if made.outcome is outcome:
                return made
        if not isinstance(outcome, OUTCOMES):
            raise self._failed(middleware, TypeError(f"wrap_tool_call returned {type(outcome).__name__}, not an outcome"))
        return Made(outcome, middleware)

    async def _centre(self) -> ToolOutcome:
        try:
            outcome: Any = await self.body()
        except Exception as cause:
            return self.conceal(failed(self.tool.name, cause))
        return self.conceal(outcome if isinstance(outcome, OUTCOMES) else Success(outcome))

    def _failed(self, middleware: AgentMiddleware, cause: Exception) -> MiddlewareFailed:
        run = self.context.run
        return MiddlewareFailed(middleware=middleware.id, cause=cause, node_id=run.node_id, task_id=run.task_id)


def _copy_of(call: ToolCall) -> ToolCall:
    """What a wrapper is shown. C code, such as that of heapq, changes even a list that refuses it: the call that runs is another (D12)."""
    return ToolCall(call.id, call.name, thaw(call.arguments), call.edited)


def failed(tool: str, cause: BaseException) -> ToolError:
    """A tool that raised (3.4)."""
    return ToolError(f"Tool '{tool}' failed: {said(cause)}")


def said(error: BaseException) -> str:
    """An error in one line: its message, or its class when it has none."""
    if isinstance(error, Llm4sError):
        return error.what or type(error).__name__
    return text_of(error) or type(error).__name__

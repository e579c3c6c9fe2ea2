"""The hooks on both ends of a turn: `before_agent` on the query, `after_agent` on the answer (4.1, 6.1.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, cast

from ..checkpoint import Value
from ..errors import ConfigError, GuardrailBlocked, Llm4sError, MiddlewareFailed, Refused, half_character
from ..graph import RunContext
from ..models import is_blank
from ._asked import Asked
from ._cancel import CancelWatch
from ._context import HookContext
from ._decision import GivenAnswer
from ._family import Member
from ._middleware import AgentMiddleware
from ._request import MiddlewareHook
from ._turn import Outcome
from ._worker import call_hook


class Passed(Value, frozen=True):
    """Every hook let the text through; this is what they made of it."""

    text: str


class Waits(Value, frozen=True, gc=True):
    """A hook asked a question; `agent` is the one whose stack the middleware belongs to."""

    agent: str
    middleware: str
    question: object


class Stopped(Value, frozen=True, gc=True):
    """A hook refused or failed, which closes the turn as a block (D21). `guarded` says that a guardrail did."""

    error: Exception
    outcome: Outcome
    guarded: bool


Boundary: TypeAlias = Passed | Waits | Stopped
BoundaryHook: TypeAlias = Literal[MiddlewareHook.BEFORE_AGENT, MiddlewareHook.AFTER_AGENT]

_CLOSED = "the turn is closed and nothing of it is kept; run it anew"
_BLANK = {
    MiddlewareHook.BEFORE_AGENT: ("query", "before_agent returned a blank query"),
    MiddlewareHook.AFTER_AGENT: ("tool loop", "after_agent returned a blank answer"),
}


async def run_boundary(
    members: Sequence[Member], hook: BoundaryHook, text: str, context: RunContext, answers: Sequence[GivenAnswer]
) -> Boundary:
    """Run the hook through the members' stacks in this order; stop at the first that asks, refuses or fails.

    Raises: ConfigError for a question that belongs to no asking middleware of the agent (4.3.10).
    """
    for member in members:
        stack = member.stack.before if hook is MiddlewareHook.BEFORE_AGENT else member.stack.after
        if not stack:
            continue
        own = HookContext(context, member.id, answers)
        for middleware in stack:
            with CancelWatch(context):
                outcome = await _one(member, middleware, hook, text, own)
            if not isinstance(outcome, Passed):
                return outcome
            text = outcome.text
    return Passed(text)


async def _one(member: Member, middleware: AgentMiddleware, hook: BoundaryHook, text: str, context: HookContext) -> Boundary:
    function = middleware.before_agent if hook is MiddlewareHook.BEFORE_AGENT else middleware.after_agent
    try:
        made: object = await call_hook(function, text, context)
    except GuardrailBlocked as blocked:
        return Stopped(blocked, Outcome.blocked(blocked.guardrail, blocked.reason), guarded=True)
    except Llm4sError as refused:
        if isinstance(refused, Refused | ConfigError):
            refused.placed(f"middleware '{middleware.id}', {hook}", _CLOSED)
        return _stopped(middleware, refused)
    except Exception as cause:
        return _stopped(middleware, _failed(middleware, cause, context))
    if isinstance(made, Asked):
        check_asker(member, made)
        return Waits(member.id, made.middleware, made.question)
    if not isinstance(made, str):
        wrong = TypeError(f"{hook.name.lower()} returned {type(made).__name__}, not a text or a question")
        return _stopped(middleware, _failed(middleware, wrong, context))
    if half_character(made) is not None:
        wrong = ValueError(f"{hook.name.lower()} returned a text with half a character, which cannot be stored")
        return _stopped(middleware, _failed(middleware, wrong, context))
    if is_blank(made):
        field, problem = _BLANK[hook]
        return _stopped(middleware, ConfigError(field=field, problems=[problem], next_step=_CLOSED))
    return Passed(made)


def check_asker(member: Member, asked: Asked) -> None:
    """Raises: ConfigError when the agent's stack does not hold the one who asked as an asking middleware (4.3.10)."""
    holder = member.stack.asking.get(asked.middleware)
    if holder is None or cast(object, holder) is not asked.asker:
        problem = f"middleware '{asked.middleware}' asked a question, and agent '{member.id}' has no asking middleware of that id"
        raise ConfigError(field="middleware question", problems=[problem])


def _failed(middleware: AgentMiddleware, cause: Exception, context: RunContext) -> MiddlewareFailed:
    return MiddlewareFailed(middleware=middleware.id, cause=cause, node_id=context.node_id, task_id=context.task_id, closed=True)


def _stopped(middleware: AgentMiddleware, error: Exception) -> Stopped:
    """The thread keeps who refused and the error's class, never its text (D21, D22)."""
    return Stopped(error, Outcome.blocked(middleware.id, type(error).__name__), guarded=False)

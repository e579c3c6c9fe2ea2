"""Both ends of a turn: `input` takes the query in, `finish` lets the answer out (1.1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..errors import ConfigError
from ..graph import Block, Command, RunContext, Suspend, ThreadState
from ..models import AssistantMessage, Message, UserMessage
from . import events
from ._boundary import Passed, Stopped, Waits, run_boundary
from ._decision import GivenAnswer
from ._family import Family
from ._messages import MESSAGES, AppendMessages, RemoveTurn, ReplaceMessage
from ._request import MiddlewareHook, MiddlewareQuestionRequest
from ._turn import ACTIVE_AGENT, TRANSFER, TURN, Outcome, Turn
from ._turn_input import TurnInput
from .events import announce

INPUT_WRITES = (MESSAGES, ACTIVE_AGENT, TURN)
FINISH_WRITES = (MESSAGES, ACTIVE_AGENT, TURN, TRANSFER)


def active_agent(family: Family, state: ThreadState) -> str:
    """Who the next model call belongs to; the root on a thread that has nobody yet (2.1.2)."""
    if len(family.members) == 1:
        return family.root
    active = state[ACTIVE_AGENT]
    return active if active is not None and active in family.members else family.root


async def take_in(
    family: Family, given: TurnInput, answers: Sequence[GivenAnswer], state: ThreadState, context: RunContext
) -> Command | Suspend[Any, Any] | Block:
    """Import the history, guard the query, store it, and go to the active agent's model. While it waits nothing is stored (4.4)."""
    fresh = not state.is_set(ACTIVE_AGENT)
    if given.history and not fresh:
        return Block(ConfigError(field="history", problems=["history is imported only into a new thread"]))
    active = active_agent(family, state)
    outcome = await run_boundary(family.guards(active), MiddlewareHook.BEFORE_AGENT, given.query, context, answers)
    start = _opening(context, given.history, active, fresh)
    match outcome:
        case Waits():
            request = MiddlewareQuestionRequest(
                agent=outcome.agent,
                middleware=outcome.middleware,
                hook=MiddlewareHook.BEFORE_AGENT,
                question=outcome.question,
                input=given.query,
                answers=tuple(answers),
                history=given.history,
            )
            return Suspend(request, family.nodes[outcome.agent].asked[outcome.middleware, MiddlewareHook.BEFORE_AGENT])
        case Stopped():
            _announce_block(context, outcome, "Input")
            return Block(outcome.error, start.update(TURN, Turn(agent=state[ACTIVE_AGENT], outcome=outcome.outcome)))
        case Passed():
            message = UserMessage(outcome.text, f"{context.task_id}/user")
            turn = Turn(query=given.query, message_id=message.id, agent=active, transfer=state[TRANSFER])
            return start.update(MESSAGES, AppendMessages((message,))).update(TURN, turn).goto(family.nodes[active].model)


def _opening(context: RunContext, history: Sequence[Message], active: str, fresh: bool) -> Command:
    """What a new thread gets whether or not its first query passes: the imported history and the root as active agent."""
    command = Command()
    if not fresh:
        return command
    if history:
        imported = tuple(replace(message, id=f"{context.task_id}/history/{at}") for at, message in enumerate(history))
        command = command.update(MESSAGES, AppendMessages(imported))
    return command.update(ACTIVE_AGENT, active)


async def let_out(
    family: Family, answers: Sequence[GivenAnswer], state: ThreadState, context: RunContext
) -> Command | Suspend[Any, Any] | Block:
    """Guard the stored answer - the answering agent's stack, then the root's - and end the turn."""
    active = active_agent(family, state)
    stored = _final_answer(state)
    text = stored.content or ""
    guards = tuple(reversed(family.guards(active)))
    outcome = await run_boundary(guards, MiddlewareHook.AFTER_AGENT, text, context, answers)
    turn = state[TURN]
    match outcome:
        case Waits():
            request = MiddlewareQuestionRequest(
                agent=outcome.agent,
                middleware=outcome.middleware,
                hook=MiddlewareHook.AFTER_AGENT,
                question=outcome.question,
                answers=tuple(answers),
            )
            return Suspend(request, family.nodes[outcome.agent].asked[outcome.middleware, MiddlewareHook.AFTER_AGENT])
        case Stopped():
            _announce_block(context, outcome, "Output")
            return Block(outcome.error, removal(turn, outcome.outcome))
        case Passed():
            command = Command()
            if outcome.text != text:
                command = command.update(MESSAGES, ReplaceMessage(replace(stored, content=outcome.text)))
            return command.update(TURN, turn.ended(Outcome("completed", answer=outcome.text)))


def _final_answer(state: ThreadState) -> AssistantMessage:
    messages = state[MESSAGES]
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage):
        raise ConfigError(field="tool loop", problems=["the turn reached its end without a stored answer"])
    return last


def removal(turn: Turn, outcome: Outcome) -> Command:
    """Take the turn out of the thread: its messages, and any handoff it made; usage stays (6.1.4, 7.7)."""
    command = Command()
    if turn.message_id is not None:
        command = command.update(MESSAGES, RemoveTurn(turn.message_id))
    command = command.update(ACTIVE_AGENT, turn.agent)
    command = command.update(TRANSFER, turn.transfer) if turn.transfer is not None else command.remove(TRANSFER)
    return command.update(TURN, Turn(agent=turn.agent, transfer=turn.transfer, outcome=outcome))


def _announce_block(context: RunContext, stopped: Stopped, phase: Any) -> None:
    if stopped.guarded:
        announce(context, events.GuardrailBlocked(stopped.outcome.guardrail, phase))

"""Giving up a turn that waits or did not finish (R6.36): what it has stored goes, its usage stays."""

from __future__ import annotations

from ..errors import ThreadNotFound
from ..graph import BreakpointPhase, Command, Execution, GraphRuntime
from ._call_secrets import CALL_SECRETS
from ._ends import removal
from ._messages import TOOL_RESULTS
from ._node_ids import INPUT
from ._read import Reader
from ._request import MiddlewareHook
from ._turn import ACTIVE_AGENT, TURN, Outcome, Turn

ABANDONED = Outcome.blocked("abandon", "the turn was given up")


async def abandon_turn(runtime: GraphRuntime, reader: Reader, thread_id: str) -> None:
    """Retract the open turn. Raises: ThreadNotFound; NothingToRecover when no turn is open; ThreadBusy; RestoreRejected."""
    latest = await runtime.checkpointer.latest(thread_id)
    if latest is None:
        raise ThreadNotFound(thread_id=thread_id)
    await runtime.abandon(thread_id, reader.graph, _update(reader.graph.restore(latest.checkpoint)))


def _update(execution: Execution) -> Command:
    """What brings the thread back to before the turn."""
    state = execution.state
    if _has_stored_nothing(execution):
        # the stored turn is the one before; only how this one ended is noted
        return Command().update(TURN, Turn(agent=state[ACTIVE_AGENT], outcome=ABANDONED))
    command = removal(state[TURN], ABANDONED).remove(TOOL_RESULTS)
    return command.remove(CALL_SECRETS) if state.is_set(CALL_SECRETS) else command


def _has_stored_nothing(execution: Execution) -> bool:
    """True while the turn has not got past its input: that is the only step at work then (4.4). One held after it ran has."""
    nodes = [task.node for task in execution.frontier if task.replay is None]
    nodes += [parked.node for parked in execution.parked.values() if parked.phase is not BreakpointPhase.AFTER]
    return any(node == INPUT or node.endswith(f"/{MiddlewareHook.BEFORE_AGENT.value}") for node in nodes)

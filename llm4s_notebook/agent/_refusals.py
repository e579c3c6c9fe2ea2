"""A graph's refusals in an agent's words: the ways on from another version (D14), and what waits (F23)."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import PendingInterrupts, RestoreRejected
from ._result import AgentResult

CHANGES = ("changed: ", "added: ", "removed: ")
"""How a problem begins that names a part of the agent."""
_DIGESTS = "it was stored by graph "
"""How one begins that only says that some part has changed."""


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """The version a thread was stored with; `same_steps` says that with it the agent as it is now could go on.

    `settled_messages` is the number of messages before a turn that is open; None where no turn is.
    """

    version: str
    same_steps: bool
    settled_messages: int | None


def explained(rejected: RestoreRejected, thread_id: str, stored: StoredVersion | None) -> RestoreRejected:
    """A thread of another version of the agent, with the ways on (D14). One that was damaged has others, and says so itself.

    `stored` is None where the thread is another graph's, or gone.
    """
    if rejected.damaged or stored is None:
        return rejected
    if stored.same_steps:
        version = (
            f"give the agent the version the thread was stored with, Agent(version=…), which is {stored.version!r}, if it may go on with it"
        )
    else:
        version = "put back what has changed: the agent has other steps or state now, so that Agent(version=…) does not help"
    problems = rejected.problems
    if any(problem.startswith(CHANGES) for problem in problems):  # two digests beside them would say nothing more
        problems = [problem for problem in problems if not problem.startswith(_DIGESTS)]
    return RestoreRejected(
        graph_id=rejected.graph_id,
        problems=problems,
        next_step=f"{version}; or start a new thread{_with_history(thread_id, stored)}",
    )


def _with_history(thread_id: str, stored: StoredVersion) -> str:
    """What a new thread can begin with: an open turn is no conversation yet (1.4.1)."""
    messages = f"history=(await agent.result({thread_id!r})).messages"
    match stored.settled_messages:
        case None:
            return f" with {messages}"
        case 0:
            return ", as nothing is stored before the turn that is open"
        case number:
            return f" with {messages}[:{number}], which leaves the turn that is open"


def naming(waiting: PendingInterrupts, stored: AgentResult) -> PendingInterrupts:
    """The same refusal with each interrupt that waits in one line, as `stored` has it."""
    named = {review.id: str(review) for review in stored.pending}
    return PendingInterrupts(
        thread_id=waiting.thread_id,
        interrupt_ids=waiting.interrupt_ids,
        details=[named.get(id, id) for id in waiting.interrupt_ids],
    )

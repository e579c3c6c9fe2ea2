"""An agent's result read off a thread's state (2.1, 2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..checkpoint import Checkpoint, CheckpointStatus
from ..errors import RestoreRejected
from ..graph import BreakpointPhase, PendingInterrupt, ThreadState
from ..models import AssistantMessage, Json, Message, ToolMessage
from ._asking_tool import AskingTool
from ._call_input import CallInput
from ._call_secrets import hiding
from ._codec import Codec
from ._compile import AgentGraph
from ._decision import GivenAnswer
from ._ends import active_agent
from ._family import Family
from ._messages import MESSAGES, TOOL_RESULTS
from ._node_ids import INPUT, Kind, kind_of
from ._pending import AnswerSchemas
from ._request import ApprovalRequest, BreakpointRequest, MiddlewareQuestionRequest, ToolQuestionRequest
from ._result import AgentResult
from ._secrets import DOTS, form_schema
from ._status import AnyStatus, Completed, Suspended, Unfinished
from ._turn import LOOP_KEY_IDS, TURN, USAGE, Outcome


@lru_cache(maxsize=8)
def _codec(of: Any) -> Codec[Any]:
    return Codec(of, what="the stored request")


def partition(interrupts: Iterable[PendingInterrupt], state: ThreadState, family: Family) -> Suspended:
    """Every interrupt in exactly one of the four lists: by its phase, else by the node it resumes at (2.2.1).

    Answers given earlier in the stack run are shown without their secrets (3.8.6).
    """

    def shown(request: Any) -> Any:
        return replace(request, answers=tuple(_shown_answer(family, given) for given in request.answers)) if request.answers else request

    status = Suspended({}, {}, {}, {})
    approvals: dict[str, ApprovalRequest] = {}
    questions: dict[str, ToolQuestionRequest] = {}
    asked: dict[str, MiddlewareQuestionRequest] = {}
    held: dict[str, BreakpointRequest] = {}
    for one in interrupts:
        if one.breakpoint is not None:
            held[one.id] = _held(one, one.breakpoint, state)
            continue
        match kind_of(one.resume_node):
            case "approval":
                approvals[one.id] = shown(_codec(ApprovalRequest).decode(one.question))
            case "ask":
                questions[one.id] = shown(_codec(ToolQuestionRequest).decode(one.question))
            case _:
                asked[one.id] = shown(_codec(MiddlewareQuestionRequest).decode(one.question))
    return replace(status, approvals=approvals, questions=questions, middleware_questions=asked, breakpoints=held)


def _shown_answer(family: Family, given: GivenAnswer) -> GivenAnswer:
    """The answer with dots for its secrets; all of it where nobody knows any more what was secret of it."""
    member = family.members.get(given.agent)
    asker = None if member is None else member.stack.asking.get(given.middleware)
    if asker is None or asker.answer_codec is None:
        return replace(given, answer=DOTS)
    places = asker.answer_codec.secret_places()
    return given if places is None else replace(given, answer=places.hide(given.answer).shown)


def _held(one: PendingInterrupt, phase: BreakpointPhase, state: ThreadState) -> BreakpointRequest:
    kind = kind_of(one.resume_node)
    if phase is BreakpointPhase.BEFORE:
        call = _codec(CallInput).decode(one.question).call if kind == "call-tool" else None
        return BreakpointRequest(one.resume_node, phase, call, message=_last_answer(state) if kind == "finish" else None)
    return BreakpointRequest(one.resume_node, phase, None, _recorded_by(one.id, state), _stored_by(one, kind, state))


def _recorded_by(task_id: str, state: ThreadState) -> ToolMessage | None:
    """The result that a held task recorded; the interrupt's id is the task's."""
    return next((one.message for one in state[TOOL_RESULTS] if one.task_id == task_id), None)


def _stored_by(one: PendingInterrupt, kind: Kind | None, state: ThreadState) -> Message | None:
    """The message a model step stored, or the answer a finishing step guarded."""
    own = f"{one.id}/assistant"
    message = next((message for message in reversed(state[MESSAGES]) if message.id == own), None)
    if message is None and (kind == "finish" or one.resume_node.endswith("/afterAgent")):
        return _last_answer(state)
    return message


def _last_answer(state: ThreadState) -> Message | None:
    messages = state[MESSAGES]
    return messages[-1] if messages and isinstance(messages[-1], AssistantMessage) else None


def outcome_status(outcome: Outcome | None, state: ThreadState) -> AnyStatus:
    """The status of a turn that ended. A thread seeded from outside has no outcome: its last answer counts."""
    if outcome is not None:
        return outcome.status
    last = _last_answer(state)
    return Completed((last.content or "") if isinstance(last, AssistantMessage) else "")


def schemas_of(family: Family) -> AnswerSchemas:
    """Where the answer forms of this family come from."""

    def arguments(agent: str, name: str) -> dict[str, Json] | None:
        member = family.members.get(agent)
        tool = None if member is None else member.tools.get(name)
        if member is None or tool is None:
            return None
        return form_schema(tool.arguments_schema) if name in member.secret_places else dict(tool.parameters)

    def tool_answer(agent: str, name: str) -> dict[str, Json] | None:
        tool = family.members[agent].tools.get(name) if agent in family.members else None
        return tool.answer_codec.schema() if isinstance(tool, AskingTool) and tool.answer_codec is not None else None

    def middleware_answer(agent: str, id: str) -> dict[str, Json] | None:
        middleware = family.members[agent].stack.asking.get(id) if agent in family.members else None
        return None if middleware is None or middleware.answer_codec is None else middleware.answer_codec.schema()

    return AnswerSchemas(arguments, tool_answer, middleware_answer)


@dataclass(frozen=True, eq=False)
class Reader:
    """Makes results of one agent's threads."""

    family: Family
    graph: AgentGraph
    schemas: AnswerSchemas

    def result(
        self, thread_id: str, run_id: str, status: AnyStatus, state: ThreadState, owners: dict[str, str] | None = None
    ) -> AgentResult:
        """The result with this status."""
        turn = state[TURN]
        return AgentResult(
            thread_id=thread_id,
            run_id=run_id,
            active_agent=active_agent(self.family, state),
            status=status,
            messages=tuple(state[MESSAGES]),
            usage=state[USAGE],
            state=state,
            recorded_results=tuple(one.message for one in state[TOOL_RESULTS]),
            query=turn.query,
            _owners=owners or {},
            _schemas=self.schemas,
        )

    def suspended(self, thread_id: str, run_id: str, interrupts: Iterable[PendingInterrupt], state: ThreadState) -> AgentResult:
        """The result of a run that waits."""
        waiting = tuple(interrupts)
        owners = {one.id: self.owner(one.resume_node) for one in waiting}
        return self.result(thread_id, run_id, partition(waiting, state, self.family), state, owners)

    def settled_messages(self, result: AgentResult) -> int | None:
        """How many of a stored thread's messages come before the turn that is open; None where no turn is."""
        if not isinstance(result.status, Suspended | Unfinished):
            return None
        turn = result.state[TURN]
        if turn.outcome is not None or turn.message_id is None:
            return len(result.messages)  # nothing of the open turn is stored yet
        return next((at for at, message in enumerate(result.messages) if message.id == turn.message_id), len(result.messages))

    def without_secrets(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Messages from outside as they are stored: with dots for what a tool of the family calls secret."""
        places = {name: places for member in self.family.members.values() for name, places in member.secret_places.items()}
        return tuple(hiding(places, message)[0] if isinstance(message, AssistantMessage) else message for message in messages)

    def owner(self, node: str) -> str:
        """The agent a node belongs to; `input` is the root's."""
        agent = node.partition("/")[0]
        return agent if agent in self.family.members and node != INPUT else self.family.root

    def stored(self, checkpoint: Checkpoint) -> AgentResult:
        """The result of a thread as stored, whatever version of the agent stored it (D14).

        Raises: UnsupportedCheckpointFormat; RestoreRejected for a thread of another graph, or one without readable messages.
        """
        execution = self._execution(checkpoint)
        state = execution.state
        match checkpoint.status:
            case CheckpointStatus.SUSPENDED if execution.parked:
                interrupts = [PendingInterrupt.of(parked) for parked in execution.parked.values()]
                return self.suspended(checkpoint.thread_id, checkpoint.run_id, interrupts, state)
            case CheckpointStatus.COMPLETED | CheckpointStatus.FAILED:
                return self.result(checkpoint.thread_id, checkpoint.run_id, outcome_status(state[TURN].outcome, state), state)
            case _:
                return self.result(checkpoint.thread_id, checkpoint.run_id, Unfinished(checkpoint.id), state)

    def _execution(self, checkpoint: Checkpoint) -> Any:
        try:
            return self.graph.restore(checkpoint)
        except RestoreRejected:
            if checkpoint.graph_id != self.graph.id:
                raise
        header = checkpoint.header.replaced(graph_version=self.graph.version, fingerprint=self.graph.fingerprint)
        known = {key.id for key in self.graph.keys}
        attempts: list[dict[tuple[str, str], Any]] = [
            dict(checkpoint.entries),
            {at: entry for at, entry in checkpoint.entries.items() if at[0] == "meta" or (at[0] == "state" and at[1] in known)},
            {at: entry for at, entry in checkpoint.entries.items() if at[0] == "meta" or (at[0] == "state" and at[1] in LOOP_KEY_IDS)},
        ]
        for entries in attempts[:-1]:
            body = header.body if entries is attempts[0] else b"{}"
            try:
                return self.graph.restore(replace(checkpoint, header=header.replaced(body=body), entries=entries))
            except RestoreRejected:
                continue
        return self.graph.restore(replace(checkpoint, header=header.replaced(body=b"{}"), entries=attempts[-1]))

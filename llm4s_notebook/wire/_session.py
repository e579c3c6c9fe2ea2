"""`SessionState`: the one document of a session that every view draws (W1.1). Kernel to browser."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ._base import Json, JsonObject, WireModel
from ._editor import EditorView

Kind = Literal["APPROVAL", "QUESTION", "MIDDLEWARE_QUESTION", "BREAKPOINT"]
Status = Literal["new", "running", "suspended", "completed", "blocked", "step_limit", "unfinished"]
Hold = Literal["off", "on", "fixed"]
NodeStatus = Literal["idle", "running", "held", "done", "failed"]


class GuardrailRefusal(WireModel):
    """What a guardrail review asks about (6.2.2); `phase` is the guardrail's, input or output."""

    phase: Literal["input", "output"]
    guardrail: str
    reason: str
    text: str


class Problem(WireModel):
    """One fault of one answer; `path` points into the answer so that the form shows it on its field (W2.7)."""

    interrupt_id: str | None
    path: list[str | int]
    code: Literal["unknown", "answered", "invalid", "empty", "repeated", "error"]
    message: str
    answered_at_ms: int | None
    answered_by: str | None


class PendingCard(WireModel):
    """One thing the turn waits for, with everything its card shows (W2.1-W2.5). A field a kind does not have is None."""

    id: str
    kind: Kind
    title: str  # "deploy wants your approval"
    agent: str | None
    node: str | None  # node the task waits at
    since_ms: int | None  # epoch milliseconds when it began to wait
    tool_name: str | None
    arguments: JsonObject | None
    arguments_schema: JsonObject | None  # JSON Schema of the tool's arguments, for the edit form
    reason: str | None
    destructive: bool  # an approval of a call whose tool does not say that it destroys nothing: named again on its button (W2.2)
    source: str | None  # who asked for the approval: "tool" or the middleware's id
    question: Json
    answer_schema: JsonObject | None  # JSON Schema of the answer, for the reply form
    lenient: bool  # True for a tool question: an answer that does not fit is sent on and becomes the call's error (W2.8)
    middleware: str | None
    hook: str | None
    guardrail: GuardrailRefusal | None
    phase: Literal["BEFORE", "AFTER"] | None
    result: str | None  # recorded result of a call held after it ran
    message: str | None  # stored message of a model step held after it ran
    default_reject_reason: str | None  # what the reject field is filled with


class ToolCallView(WireModel):
    id: str
    name: str
    arguments: Json
    edited: bool  # a person edited the arguments
    # no_result: the turn stopped in the middle of it; not_run: rejected or denied (W4.1)
    # writing: the model is still writing it, and `arguments` is its JSON text so far (W4.7)
    state: Literal["waiting", "running", "no_result", "done", "error", "not_run", "writing"]


class MessageView(WireModel):
    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    tool_calls: list[ToolCallView]
    tool_call_id: str | None
    is_error: bool
    not_run: bool  # a tool message of a call that a person or a rule stopped
    note: str | None = None  # beside its role: what the model call took (W4.9), or that it is being written (W4.7)


class LiveView(WireModel):
    """What the models are writing just now, as far as it was sent up to piece `number` (W4.7).

    A message has the id under which it will be stored, and is here or among the stored ones, never both.
    """

    number: int = 0
    waiting: str | None = None  # which model has been silent for how long (W4.8)
    messages: list[MessageView] = Field(default_factory=list[MessageView])


class NodeView(WireModel):
    """A node of the diagram. `folded_into` names the step a continuation node belongs to (W3.1)."""

    id: str
    label: str
    agent: str | None
    role: Literal["input", "model", "tool", "collect", "finish", "continuation", "node", "resume"]
    folded_into: str | None
    hold_before: Hold
    hold_after: Hold
    can_hold: bool  # False for a continuation, which is held through its step
    status: NodeStatus
    held: int  # number of held tasks (folded continuations included)
    waiting: int  # number of parked questions and approvals
    interrupts: list[str]  # ids of the cards that wait at this node


class EdgeView(WireModel):
    source: str
    target: str
    kind: Literal["static", "route", "fan_out", "join"]
    taken: bool  # taken in this turn


class GraphPicture(WireModel):
    """`topology` is a digest: equal digests lay out the same way, whatever the statuses."""

    graph_id: str
    topology: str
    entry: str
    nodes: list[NodeView]
    edges: list[EdgeView]


class StorageView(WireModel):
    """Where the thread lives, in words a person reads (the status line)."""

    kind: Literal["memory", "file", "other"]
    path: str | None
    text: str


class ModelCallView(WireModel):
    """One model call of this turn: seconds in all and until its first piece, and what it used where the provider said so (W4.9)."""

    message_id: str  # the message it gave, if that was stored
    agent: str
    model: str
    attempts: int  # 0 where a wrapper answered in the model's place
    seconds: float
    first_token: float | None
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None


class UsageView(WireModel):
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    calls: list[ModelCallView] = Field(default_factory=list[ModelCallView])  # of this turn; the sums above are the thread's


class RunView(WireModel):
    """The run under way: when it started (epoch ms), the superstep it is in and the nodes running."""

    started_at_ms: int
    superstep: int | None
    nodes: list[str]
    cancelling: bool


class ErrorView(WireModel):
    """The last error: its class, what happened, where, and what to do next."""

    type: str
    what: str
    where: str
    next_step: str
    at_ms: int


class AnsweredView(WireModel):
    """An interrupt of this turn that has been answered: by whom, when, and what in short (F41)."""

    id: str
    at_ms: int
    by: str | None
    summary: str  # "approved deploy"


class SessionState(WireModel):
    revision: int
    thread_id: str
    title: str  # agent id or graph id
    is_agent: bool
    storage: StorageView
    status: Status
    status_text: str  # the status in words
    query: str | None  # the turn's query, also while nothing of it is stored
    answer: str | None
    running: bool
    run: RunView | None
    pending: list[PendingCard]
    answered: list[AnsweredView]
    messages: list[MessageView]
    live: LiveView = LiveView()
    graph: GraphPicture
    holds_apply_next_run: bool  # True while a run is under way: clicked breakpoints apply from the next run or resume (W3.2)
    usage: UsageView
    error: ErrorView | None
    notice: str | None  # one line for the person, such as how to wait again after an interrupt
    editor: EditorView | None  # None where no agent is driven
    can_run: bool
    can_cancel: bool
    can_recover: bool
    updated_at_ms: int

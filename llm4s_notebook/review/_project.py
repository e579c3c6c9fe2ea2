"""A session's state as the one document that every view draws (W1.1). Pure: no clock, no store, no loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ..errors import Llm4sError, RunCancelled
from ..graph import BreakpointPhase
from ..wire import (
    AnsweredView,
    EdgeView,
    EditorView,
    ErrorView,
    GraphPicture,
    LiveView,
    MessageView,
    NodeStatus,
    NodeView,
    PendingCard,
    RunView,
    SessionState,
    StorageView,
)
from ..wire import Status as WireStatus
from ._answered import AnsweredLog
from ._breakpoints import Breakpoints
from ._model_calls import ModelCalls
from ._thread import Stored
from ._trace import Trace

ELSEWHERE = "what is stored of the run appears here as it comes; what a model is writing is seen, and the run is cancelled, where it runs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything a document is made from."""

    revision: int
    thread_id: str
    title: str
    is_agent: bool
    storage: StorageView
    stored: Stored
    picture: GraphPicture
    breakpoints: Breakpoints
    trace: Trace
    running_nodes: tuple[str, ...]
    log: AnsweredLog
    calls: ModelCalls
    live: LiveView
    running_here: bool
    running_elsewhere: bool
    started_at: datetime | None
    cancelling: bool
    query: str | None  # of a turn under way of which nothing is stored yet
    error: Exception | None
    error_at: datetime | None
    notice: str | None
    editor: EditorView | None
    now: datetime


def project(facts: Facts) -> SessionState:
    """The document. Its `running` and `can_…` fields say which buttons work."""
    stored = facts.stored
    running = facts.running_here or facts.running_elsewhere
    goes_on = not running and stored.unfit is None
    cards = [card.model_copy(update={"since_ms": _ms(facts.log.since(card.id))}) for card in stored.cards]
    status: WireStatus = "running" if running else stored.status
    messages = facts.calls.noted(stored.messages)
    return SessionState(
        revision=facts.revision,
        thread_id=facts.thread_id,
        title=facts.title,
        is_agent=facts.is_agent,
        storage=facts.storage,
        status=status,
        status_text=status_in_words(facts),
        query=facts.query if facts.query is not None else stored.query,
        answer=None if running else stored.answer,
        running=running,
        run=_run(facts),
        pending=cards,
        answered=[AnsweredView(id=a.id, at_ms=_ms(a.at) or 0, by=a.by, summary=a.summary) for a in facts.log.of_turn()],
        messages=messages if running else [_nothing_runs(message) for message in messages],
        live=facts.live,
        graph=draw(facts.picture, cards, facts.breakpoints, facts.trace, facts.running_nodes),
        holds_apply_next_run=running,
        usage=stored.usage.model_copy(update={"calls": facts.calls.views()}),
        error=None if facts.error is None or was_cancelled(facts) else error_view(facts.error, facts.error_at or facts.now),
        notice=ELSEWHERE if facts.notice is None and facts.running_elsewhere else facts.notice,
        editor=facts.editor,
        can_run=goes_on and (stored.status == "new" or stored.settled),
        can_cancel=facts.running_here and not facts.cancelling,
        can_recover=goes_on and stored.status == "unfinished",
        updated_at_ms=_ms(facts.now) or 0,
    )


def _nothing_runs(message: MessageView) -> MessageView:
    """A message of a turn that does not run: a call without a result may have begun once, but nothing runs it now."""
    if all(call.state != "running" for call in message.tool_calls):
        return message
    calls = [call.model_copy(update={"state": "no_result"}) if call.state == "running" else call for call in message.tool_calls]
    return message.model_copy(update={"tool_calls": calls})


def was_cancelled(facts: Facts) -> bool:
    """Somebody wanted it so: the status says it, and it is no error to be shown."""
    return facts.stored.status == "unfinished" and isinstance(facts.error, RunCancelled)


def status_in_words(facts: Facts) -> str:
    """One line for the status line and the text twins."""
    stored = facts.stored
    count = len(stored.cards)
    if facts.running_here:
        return "cancelling" if facts.cancelling else "running"
    if facts.running_elsewhere:
        return "running elsewhere, in another session or kernel"
    match stored.status:
        case "new":
            return "not started"
        case "suspended":
            return f"waits for {count} answer{'s' if count != 1 else ''}"
        case "unfinished":
            return f"{'cancelled' if was_cancelled(facts) else 'not finished'}: recover continues it"
        case "completed":
            return "finished"
        case _:
            return stored.said or stored.status


def error_view(error: BaseException, at: datetime) -> ErrorView:
    """What happened, where, and what to do next; of a foreign exception only the first is known."""
    at_ms = _ms(at) or 0
    if isinstance(error, Llm4sError):
        next_step = error.next_step.replace("recover(thread_id)", "Recover")  # the button of that name, where this is read
        return ErrorView(type=type(error).__name__, what=error.what, where=error.where, next_step=next_step, at_ms=at_ms)
    return ErrorView(type=type(error).__name__, what=str(error) or type(error).__name__, where="", next_step="", at_ms=at_ms)


def draw(
    picture: GraphPicture, cards: list[PendingCard], breakpoints: Breakpoints, trace: Trace, running_nodes: tuple[str, ...]
) -> GraphPicture:
    """The diagram with its marks. A step shows what waits at the nodes that are folded into it."""
    steps: Mapping[str, str] = {node.id: node.folded_into or node.id for node in picture.nodes}
    at_step: dict[str, list[PendingCard]] = {}
    for card in cards:
        if card.node is not None:
            at_step.setdefault(steps.get(card.node, card.node), []).append(card)
    own: dict[str, list[PendingCard]] = {}
    for card in cards:
        if card.node is not None:
            own.setdefault(card.node, []).append(card)
    running_steps = {steps.get(node, node) for node in running_nodes} | set(running_nodes)
    ran, broken = trace.ran, trace.failed
    done = {steps.get(node, node) for node in ran} | ran
    failed = {steps.get(node, node) for node in broken} | broken
    nodes = [
        _marked(node, (own if node.folded_into else at_step).get(node.id, []), breakpoints, running_steps, done, failed)
        for node in picture.nodes
    ]
    taken = _route(picture.edges, trace, steps)
    edges = [edge.model_copy(update={"taken": (edge.source, edge.target) in taken}) for edge in picture.edges]
    return picture.model_copy(update={"nodes": nodes, "edges": edges})


def _route(edges: list[EdgeView], trace: Trace, steps: Mapping[str, str]) -> set[tuple[str, str]]:
    """The edges that this turn went along. A node may have been reached by any edge whose source ran before it; where sources ran
    just before it, it was by theirs. A join's sources may have come long before.
    """

    def drawn(pairs: frozenset[tuple[str, str]]) -> set[tuple[str, str]]:
        return {*pairs, *((steps.get(source, source), steps.get(target, target)) for source, target in pairs)}

    possible, straight = drawn(trace.followed), drawn(trace.straight)
    sure = {edge.target for edge in edges if (edge.source, edge.target) in straight}
    return {
        (edge.source, edge.target)
        for edge in edges
        if (edge.source, edge.target) in straight
        or ((edge.source, edge.target) in possible and (edge.kind == "join" or edge.target not in sure))
    }


def _marked(
    node: NodeView, cards: list[PendingCard], breakpoints: Breakpoints, running: set[str], done: set[str], failed: set[str]
) -> NodeView:
    held = sum(card.kind == "BREAKPOINT" for card in cards)
    status: NodeStatus = (
        "running" if node.id in running else "held" if cards else "failed" if node.id in failed else "done" if node.id in done else "idle"
    )
    return node.model_copy(
        update={
            "hold_before": _hold(node, node.hold_before, BreakpointPhase.BEFORE, breakpoints),
            "hold_after": _hold(node, node.hold_after, BreakpointPhase.AFTER, breakpoints),
            "status": status,
            "held": held,
            "waiting": len(cards) - held,
            "interrupts": [card.id for card in cards],
        }
    )


def _hold(node: NodeView, fixed: str, phase: BreakpointPhase, breakpoints: Breakpoints) -> str:
    if fixed == "fixed":
        return fixed
    return "on" if breakpoints.is_held(node.id, phase) or (node.folded_into and node.id in breakpoints.nodes(phase)) else "off"


def _run(facts: Facts) -> RunView | None:
    if not facts.running_here or facts.started_at is None:
        return None
    return RunView(
        started_at_ms=_ms(facts.started_at) or 0,
        superstep=facts.trace.superstep,
        nodes=list(facts.running_nodes),
        cancelling=facts.cancelling,
    )


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)


def storage_view(location: str | None, kind: str | None = None) -> StorageView:
    """Where the thread lives, as the status line says it."""
    if location is None:
        return StorageView(kind="memory", path=None, text="in memory: gone when the kernel stops")
    return StorageView(kind="file" if kind is None else "other", path=location, text=location)

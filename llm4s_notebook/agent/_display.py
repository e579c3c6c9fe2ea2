"""How a result shows itself in a notebook: plain text and HTML, everything a model or tool wrote escaped (W5.2, W5.7)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from ..models import compact
from ._pending import InterruptKind, PendingReview
from ._status import Blocked, Completed, StepLimitReached, Suspended, Unfinished

if TYPE_CHECKING:
    from ._result import AgentResult


def headline(result: AgentResult) -> str:
    """The status in one line."""
    match result.status:
        case Completed(answer=answer):
            return f"Completed: {answer}"
        case Blocked(guardrail=guardrail, reason=reason):
            return f"Blocked by {guardrail}: {reason}"
        case StepLimitReached():
            return "Step limit reached without an answer"
        case Suspended() as waiting:
            count = len(waiting)
            return f"Suspended: waits for {count} answer{'s' if count != 1 else ''}"
        case Unfinished(checkpoint_id=checkpoint_id):
            return f"Unfinished at checkpoint {checkpoint_id}: continue it with recover"


def what_waits(review: PendingReview) -> str:
    """One interrupt in words."""
    call = f"{review.tool_name} {compact(review.arguments)}" if review.tool_name is not None else ""
    match review.kind:
        case InterruptKind.APPROVAL:
            asker = "the tool" if review.source == "tool" else f"middleware {review.source}"
            return f"approval of {call} ({asker}: {review.reason})"
        case InterruptKind.QUESTION:
            return f"question of {call}: {compact(review.question)}"
        case InterruptKind.MIDDLEWARE_QUESTION:
            about = f" about {call}" if call else ""
            return f"question of middleware {review.middleware}{about}: {compact(review.question)}"
        case InterruptKind.BREAKPOINT:
            side = review.phase.value.lower() if review.phase else ""
            return f"breakpoint {side} {review.node}{': ' + call if call else ''}"


def how_to_answer(review: PendingReview) -> str:
    """The call that makes the answer."""
    match review.kind:
        case InterruptKind.APPROVAL:
            return f"result.approve({review.id!r})  |  .reject({review.id!r}, reason)  |  .edit({review.id!r}, arguments)"
        case InterruptKind.QUESTION | InterruptKind.MIDDLEWARE_QUESTION:
            return f"result.reply({review.id!r}, value)"
        case InterruptKind.BREAKPOINT:
            return f"result.proceed({review.id!r})"


def as_text(result: AgentResult) -> str:
    """The result in plain text, one line per thing."""
    lines = [headline(result)]
    for review in result.pending:
        lines.append(f"  {review.id}  {what_waits(review)}")
        lines.append(f"       {how_to_answer(review)}")
    if result.pending:
        lines.append(f"  then: await agent.resume({result.thread_id!r}, answers)")
    lines.append(f"  thread {result.thread_id} · {len(result.messages)} messages · {_usage(result)}")
    return "\n".join(lines)


def as_html(result: AgentResult) -> str:
    """The result as HTML that needs no style sheet."""
    rows = "".join(
        f"<tr><td><code>{escape(review.id)}</code></td><td style='text-align:left'>{escape(what_waits(review))}</td>"
        f"<td style='text-align:left'><code>{escape(how_to_answer(review))}</code></td></tr>"
        for review in result.pending
    )
    table = f"<table><thead><tr><th>id</th><th>waits for</th><th>answer with</th></tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    then = f"<div>then: <code>await agent.resume({escape(repr(result.thread_id))}, answers)</code></div>" if rows else ""
    foot = f"<small>thread {escape(result.thread_id)} · {len(result.messages)} messages · {escape(_usage(result))}</small>"
    return f"<div class='llm4s-result'><strong>{escape(headline(result))}</strong>{table}{then}<div>{foot}</div></div>"


def _usage(result: AgentResult) -> str:
    usage = result.usage
    return f"{usage.requests} model call{'s' if usage.requests != 1 else ''}, {usage.input_tokens} + {usage.output_tokens} tokens"

"""How a result shows itself in a notebook: what happened, what waits, how to answer (W5.2), in plain text and HTML.

Everything a model, a tool or a person wrote is data: visible, cut where it is long, and escaped (W5.7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, cast

from ..models import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage, compact
from ._messages import error_in
from ._pending import InterruptKind, PendingReview
from ._sketch import sketch
from ._status import Blocked, Completed, StepLimitReached, Suspended, Unfinished
from ._turn import TURN
from ._visible import cut, lines_of

if TYPE_CHECKING:
    from ._result import AgentResult

LONGEST_ROW = 300  # characters of one thing that happened or waits
MOST_ROWS = 20


class Display:
    """What both forms of a result are made of: texts without markup, cut and visible."""

    def __init__(self, result: AgentResult) -> None:
        self.pending = result.pending
        self.status, self.said, self.text = _headline(result)
        self.headline = f"{self.status}: {self.said}" if self.said else f"{self.status}:" if self.text else self.status
        self.happened = _happened(result)
        self.code = _how_to_go_on(result, self.pending)
        self.thread = f"thread {cut(result.thread_id, 100)} · {_count(len(result.messages), 'message')}"
        self.foot = f"{self.thread} · {_usage(result)}"

    def waits(self) -> list[tuple[str, str, str]]:
        """What waits: the id, what it is, and the calls that answer it."""
        return [(cut(one.id, 40), cut(what_waits(one), LONGEST_ROW), how_to_answer(one)) for one in self.pending[:MOST_ROWS]]

    @property
    def more(self) -> str | None:
        """What is left out of `waits`, in words."""
        more = len(self.pending) - MOST_ROWS
        return f"… and {more:,} more in result.pending" if more > 0 else None


def as_text(result: AgentResult) -> str:
    """The result in plain text. Lines that somebody else wrote are set off, so that they cannot pass for one of these."""
    shown = Display(result)
    lines = [shown.headline, *(f"  | {line}" for line in shown.text)]
    if shown.happened:
        lines += ["happened:", *(f"  {row}" for row in shown.happened)]
    if shown.pending:
        lines.append("waits:")
        for id, what, answers in shown.waits():
            lines += [f"  {id}  {what}", f"  {' ' * len(id)}  {answers}"]
        lines += [f"  {shown.more}"] if shown.more else []
    if shown.code:
        lines += ["answer some or all:" if shown.pending else "go on with:", *(f"  {line}" for line in shown.code)]
    return "\n".join([*lines, shown.foot])


_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0;white-space:normal;overflow-wrap:anywhere"
_CODE = "font-family:var(--jp-code-font-family,monospace);font-size:var(--jp-code-font-size,90%);background:none;color:inherit;padding:0"

_LABEL = "margin-top:6px;font-weight:600"


def as_html(result: AgentResult, *, below: str | None = None) -> str:
    """The result as HTML that needs no style sheet and no script, and takes its colours from where it stands.

    `below` is the query of a heading that the result stands under, with its usage: neither is said again.
    """
    shown = Display(result)
    happened, foot = shown.happened, shown.foot
    if below is not None:
        foot = shown.thread
        happened = happened[1:] if happened[:1] == [cut(f"user: {below}", LONGEST_ROW)] else happened
    colon = ":" if shown.said or shown.text else ""
    said = f" {_bdi(shown.said)}" if shown.said else ""
    # Only the word that is ours stands out; an answer may be a page, and is read like one.
    parts = [f"<div><strong>{_bdi(shown.status)}{colon}</strong>{said}</div>"]
    if shown.text:
        text = "\n".join(shown.text)
        parts.append(
            '<div style="border-left:3px solid currentColor;padding-left:8px;margin:4px 0;'
            f'white-space:pre-wrap;overflow-wrap:anywhere">{_bdi(text)}</div>'
        )
    if happened:
        rows = "".join(f'<li style="overflow-wrap:anywhere">{_bdi(row)}</li>' for row in happened)
        parts.append(f'<div style="{_LABEL}">happened</div><ul style="margin:0;padding-left:20px">{rows}</ul>')
    if shown.pending:
        parts.append(_table(shown))
    if shown.code:
        said = "answer some or all" if shown.pending else "go on with"
        code = escape("\n".join(shown.code))
        parts.append(
            f'<div style="{_LABEL}">{said}</div><pre style="{_CODE};margin:0;white-space:pre-wrap;overflow-wrap:anywhere">{code}</pre>'
        )
    parts.append(f'<div style="margin-top:6px"><small>{_bdi(foot)}</small></div>')
    return f'<div class="llm4s-result" style="max-width:100%">{"".join(parts)}</div>'


def _table(shown: Display) -> str:
    head = "".join(f'<th scope="col" style="{_CELL}">{name}</th>' for name in ("id", "waits for", "answer with"))
    rows = "".join(
        f'<tr><td style="{_CELL};white-space:nowrap;overflow-wrap:normal">{_bdi(id)}</td>'
        f'<td style="{_CELL};min-width:10em">{_bdi(what)}</td>'
        f'<td style="{_CELL};min-width:16em"><code style="{_CODE}">{escape(answers).replace("  |  ", "<br>")}</code></td></tr>'
        for id, what, answers in shown.waits()
    )
    more = f"<div>{escape(shown.more)}</div>" if shown.more else ""
    return (
        '<div style="overflow-x:auto"><table style="margin:6px 0 0;border-collapse:collapse;table-layout:auto;color:inherit;font:inherit">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{more}"
    )


def _bdi(text: str) -> str:
    """Text of its own reading order, which reaches no further than itself."""
    return f'<bdi dir="auto">{escape(text)}</bdi>'


# -- what happened ---------------------------------------------------------------------------------------------------


def _headline(result: AgentResult) -> tuple[str, str, list[str]]:
    """The status, what was said where that is one line, and the lines of a text that is more than one."""
    match result.status:
        case Completed(answer=answer):
            return _with_text("Completed", answer)
        case Blocked(guardrail=guardrail, reason=reason):
            return _with_text(f"Blocked by {cut(guardrail, 100)}", reason)
        case StepLimitReached():
            return "Step limit reached without an answer", "", []
        case Suspended() as waiting:
            return "Suspended", f"waits for {_count(len(waiting), 'answer')}", []
        case Unfinished(checkpoint_id=checkpoint_id):
            return f"Unfinished at checkpoint {cut(checkpoint_id, 100)}", "nothing runs it now, or it runs elsewhere", []


def _with_text(status: str, text: str) -> tuple[str, str, list[str]]:
    lines = lines_of(text)
    return (status, lines[0], []) if len(lines) == 1 else (status, "", lines)


def _happened(result: AgentResult) -> list[str]:
    """The turn message by message, each in a line; its first and its latest where there are many. The answer is in the headline."""
    messages = _of_turn(result)
    if isinstance(result.status, Completed) and messages and isinstance(messages[-1], AssistantMessage):
        messages = messages[:-1]
    rows = [cut(row, LONGEST_ROW) for row in _rows(messages, result)]
    if len(rows) <= MOST_ROWS:
        return rows
    return [rows[0], f"… {len(rows) - MOST_ROWS:,} more in result.messages", *rows[1 - MOST_ROWS :]]


def _of_turn(result: AgentResult) -> Sequence[Message]:
    """What is stored of the turn; its query where a question before it waits, and nothing is stored yet (4.4)."""
    messages = list(result.messages)
    turn = result.state[TURN]
    ended = not isinstance(result.status, Suspended | Unfinished)
    if turn.query is not None and (ended or turn.outcome is None):
        start = next((at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], UserMessage)), 0)
        return messages[start:]
    asked = result.status.middleware_questions.values() if isinstance(result.status, Suspended) else ()
    return [UserMessage(one.input) for one in asked if one.input is not None][:1]


def _rows(messages: Sequence[Message], result: AgentResult) -> Iterable[str]:
    results: dict[tuple[int, str], ToolMessage] = {}
    latest = -1
    for at, message in enumerate([*messages, *result.recorded_results]):
        if isinstance(message, AssistantMessage):
            latest = at
        elif isinstance(message, ToolMessage):
            results[latest, message.tool_call_id] = message
    for at, message in enumerate(messages):
        match message:
            case UserMessage():
                yield f"user: {message.content}"
            case AssistantMessage():
                if message.content:
                    yield f"assistant: {message.content}"
                for call in message.tool_calls:
                    yield f"{call} - {_what_became(call, results.get((at, call.id)), result)}"
            case _:
                continue


def _what_became(call: ToolCall, result: ToolMessage | None, of: AgentResult) -> str:
    edited = "edited by a person, " if call.edited else ""
    if result is None:
        return f"{edited}{'waits' if isinstance(of.status, Suspended) else 'no result yet'}"
    text = error_in(result.content) if result.is_error else result.content
    if result.outcome in ("denied", "rejected"):
        return f"{edited}not run: {text}"
    return f"{edited}{'failed' if result.is_error else 'ran'}: {text}"


# -- what waits ------------------------------------------------------------------------------------------------------


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
            shown = call or (f"its result is {review.result.content}" if review.result is not None else _text_of(review.message))
            return f"breakpoint {side} {review.node}{f': {shown}' if shown else ''}"


def _text_of(message: Any) -> str:
    if message is None:
        return ""
    calls = [str(call) for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    return " ".join([*([message.content] if message.content else []), *(f"calls {call}" for call in calls)])


def how_to_answer(review: PendingReview) -> str:
    """The calls that make an answer, of which each takes one."""
    id = repr(review.id)
    match review.kind:
        case InterruptKind.APPROVAL:
            edit = _sketch(review.arguments_schema, review.arguments)
            return f"result.approve({id})  |  result.reject({id}, 'why')  |  result.edit({id}, {edit})"
        case InterruptKind.QUESTION | InterruptKind.MIDDLEWARE_QUESTION:
            return f"result.reply({id}, {_sketch(review.answer_schema)})"
        case InterruptKind.BREAKPOINT:
            return f"result.proceed({id})"


def _sketch(schema: Mapping[str, Any] | None, arguments: Any = None) -> str:
    names: list[str] = list(cast(dict[str, Any], arguments)) if isinstance(arguments, dict) else []
    made = sketch(schema or {"type": "object", "properties": {name: {} for name in names}})
    return made if len(made) <= LONGEST_ROW else "..."


def _how_to_go_on(result: AgentResult, pending: tuple[PendingReview, ...]) -> list[str]:
    thread = repr(result.thread_id)
    match result.status:
        case Suspended():
            answers = [how_to_answer(one).partition("  |  ")[0] for one in pending[:3]]
            more = ", …" if len(pending) > len(answers) else ""
            return [f"result = await agent.resume({thread}, [{', '.join(answers)}{more}])"]
        case Unfinished():
            return [f"result = await agent.recover({thread})", f"result = await agent.abandon({thread})  # gives the turn up"]
        case StepLimitReached():
            return [f"result = await agent.run('go on', thread_id={thread})"]
        case _:
            return []


def _usage(result: AgentResult) -> str:
    usage = result.usage
    return f"{_count(usage.requests, 'model call')}, {usage.input_tokens} + {usage.output_tokens} tokens"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'s' if number != 1 else ''}"

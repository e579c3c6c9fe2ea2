"""The plain twins of a text review, for exported notebooks, previews and terminals: text, and HTML without scripts (W5.3)."""

from __future__ import annotations

from html import escape

from ..review import TextRefusal, TextSession
from ..wire import TextsState

MOST_ROWS = 20
"""So many refused texts are listed; the rest is counted."""
LONGEST = 200
"""Characters of a text or a reason that are shown."""


def headline(session: TextSession) -> str:
    """How far it is, in one line."""
    state = session.state()
    said = [f"{state.phase}, {_checked(state)}"]
    if state.checked:
        said.append(f"{state.counts.refused:,} refused")
    if state.counts.refused:
        said.append(f"{session.left:,} undecided")
    if state.totals.errors:
        said.append(f"{state.totals.errors:,} with a guardrail's error")
    return ", ".join(said)


def _checked(state: TextsState) -> str:
    texts = f"{state.total:,} text{'s' if state.total != 1 else ''}"
    return f"{texts} checked" if state.checked == state.total and state.total else f"{state.checked:,} of {texts} checked"


def changes(state: TextsState) -> list[str]:
    """What is new against the guardrails before, and where the guardrails now agree or disagree with the person."""
    counts = state.counts
    said: list[str] = []
    if counts.newly_refused is not None:
        said.append(f"newly refused: {counts.newly_refused:,}")
    if counts.newly_passing is not None:
        said.append(f"newly passing: {counts.newly_passing:,}")
    if counts.mended:
        said.append(f"false alarms that pass now: {counts.mended:,}")
    if counts.missed:
        said.append(f"blocked texts that pass now: {counts.missed:,}")
    return said


def as_text(session: TextSession) -> str:
    """The whole twin in plain text."""
    state = session.state()
    lines = [f"Text review: {headline(session)}"]
    lines += [" · ".join(changes(state))] if changes(state) else []
    if state.checked and state.guardrails:
        lines += [repr(session.table())]
    refusals = session.refusals
    for refusal in refusals[:MOST_ROWS]:
        lines += [
            f"[{_cut(str(refusal.id))}] {_verdict(refusal)} · {refusal.guardrail}: {_cut(refusal.reason)}",
            f"  | {_cut(refusal.text)}",
        ]
    return "\n".join([*lines, *_more(len(refusals)), state.storage])


def as_html(session: TextSession) -> str:
    """The same as HTML; everything that others wrote is escaped."""
    state = session.state()
    parts = [f"<p><strong>Text review</strong>: {escape(headline(session))}</p>"]
    parts += [f"<p>{escape(' · '.join(changes(state)))}</p>"] if changes(state) else []
    if state.checked and state.guardrails:
        parts.append(session.table()._repr_html_())  # pyright: ignore[reportPrivateUsage]  # IPython's own protocol
    refusals = session.refusals
    if refusals:
        rows = "".join(
            f"<tr>{_cell(str(refusal.id))}{_cell(_verdict(refusal))}{_cell(refusal.guardrail)}{_cell(refusal.reason)}{_cell(refusal.text)}</tr>"
            for refusal in refusals[:MOST_ROWS]
        )
        head = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in ("id", "verdict", "guardrail", "reason", "text"))
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
    parts += [f"<p>{escape(line)}</p>" for line in (*_more(len(refusals)), state.storage)]
    return f'<div class="llm4s-static">{"".join(parts)}</div>'


def _cell(text: str) -> str:
    return f'<td style="text-align:left;vertical-align:top;overflow-wrap:anywhere"><bdi dir="auto">{escape(_cut(text))}</bdi></td>'


def _verdict(refusal: TextRefusal) -> str:
    return "undecided" if refusal.verdict is None else refusal.verdict.mark


def _more(count: int) -> list[str]:
    return [f"… and {count - MOST_ROWS:,} more refused texts"] if count > MOST_ROWS else []


def _cut(text: str) -> str:
    """In one line and short enough for a row."""
    line = " ".join(text[: LONGEST * 4].split())
    return line if len(line) <= LONGEST and len(text) <= LONGEST * 4 else line[:LONGEST] + "…"

"""The HTML twin of each view, for exported notebooks and repository previews: plain, static, without scripts (W5.3, W5.7)."""

from __future__ import annotations

from html import escape

from ..wire import SessionState
from ._text import View, as_text, card_lines, headline


def as_html(state: SessionState, view: View) -> str:
    """Everything a model, a tool or a person wrote is escaped."""
    if view in ("graph", "transcript"):
        return f'<pre class="llm4s-static">{escape(as_text(state, view))}</pre>'
    parts = [f"<p><strong>{escape(headline(state))}</strong><br>{escape(state.storage.text)}</p>"]
    if view == "console":
        parts += [f"<p>{escape(label)}: {escape(text)}</p>" for label, text in (("query", state.query), ("answer", state.answer)) if text]
    if state.error is not None:
        said = " · ".join(part for part in (state.error.what, state.error.where, state.error.next_step) if part)
        parts.append(f"<p>{escape(state.error.type)}: {escape(said)}</p>")
    if state.editor is not None and state.editor.offer is not None:
        parts.append(f"<p>{escape(state.editor.offer)}</p>")
    if state.notice:
        parts.append(f"<p>{escape(state.notice)}</p>")
    if state.pending:
        cards = "".join(f"<li>{'<br>'.join(escape(line.strip()) for line in card_lines(card))}</li>" for card in state.pending)
        parts.append(f"<ol>{cards}</ol>")
    return f'<div class="llm4s-static">{"".join(parts)}</div>'

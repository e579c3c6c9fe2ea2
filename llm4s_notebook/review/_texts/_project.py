"""A text review in the words of the wire: the document, rows, and one opened text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...agent import GuardrailPhase
from ...errors import printable
from ...wire import OpenedText, TextMark, TextReason, TextRow, TextsState, TextVerdictView
from .._project import error_view
from ._memory import TextVerdict, VerdictMemory
from ._results import Results
from ._runner import Runner
from ._table import ALL

LONGEST_EXCERPT = 160
"""Characters of a text that a row of the list shows."""
LONGEST_TEXT = 200_000
"""Characters of a text that are shown; the rest is counted."""
LETTERS: dict[TextMark, str] = {"undecided": "u", "allow": "a", "edit": "e", "block": "b", "none": "n"}


def document(results: Results, runner: Runner, revision: int, now: datetime) -> TextsState:
    """The document as it is now."""
    table = results.tally.table()
    return TextsState(
        revision=revision,
        results=results.version,
        phase="input" if results.phase is GuardrailPhase.INPUT else "output",
        total=len(results.texts),
        checked=results.checked,
        running=runner.running,
        cancelling=runner.cancelling,
        per_second=runner.per_second,
        guardrails=list(results.labels),
        table=[row.as_wire(label) for label, row in table.rows.items()],
        totals=table.total.as_wire(ALL),
        counts=results.tally.lists(results.compared),
        storage=storage(results.memory),
        can_undo=results.memory.can_undo,
        error=None if runner.error is None else error_view(runner.error, now),
        updated_at_ms=int(now.timestamp() * 1000),
    )


def storage(memory: VerdictMemory) -> str:
    """Where verdicts are kept, in words a person reads."""
    if memory.decisions is None:
        return "verdicts are in this kernel's memory only"
    return f"verdicts are kept in {memory.decisions.path}"


def rows(results: Results, positions: Sequence[int]) -> list[TextRow]:
    """What the list shows of these texts."""
    return [_row(results, position) for position in positions]


def _row(results: Results, position: int) -> TextRow:
    standing = results.standing(position)
    guardrail = None if standing.now is None else standing.now.guardrail
    return TextRow(
        position=position,
        id=printable(str(results.texts.ids[position])),
        excerpt=printable(results.texts.values[position][:LONGEST_EXCERPT]),
        guardrail=guardrail,
        outcome=standing.outcome,
        mark=standing.mark,
    )


def opened(results: Results, position: int, request_id: str) -> OpenedText:
    """All there is about one text."""
    text = results.texts.values[position]
    standing, verdict = results.standing(position), results.verdict(position)
    now, before = standing.now, standing.before
    made = None if now is None or not now.fixed_by else printable(now.text[:LONGEST_TEXT])
    return OpenedText(
        kind="opened",
        request_id=request_id,
        position=position,
        id=printable(str(results.texts.ids[position])),
        text=printable(text[:LONGEST_TEXT]),
        cut=max(0, len(text) - LONGEST_TEXT),
        made_of_it=made,
        outcome=standing.outcome,
        reasons=[]
        if now is None
        else [
            *(TextReason(guardrail=one.guardrail, did="refused", reason=one.reason) for one in now.failures),
            *(TextReason(guardrail=one.guardrail, did="error", reason=one.reason) for one in now.faults),
            *(TextReason(guardrail=name, did="fixed", reason="") for name in now.fixed_by),
        ],
        before=None if before is None else before.outcome,
        mark=standing.mark,
        verdict=None if verdict is None else _verdict(verdict),
    )


def _verdict(given: TextVerdict) -> TextVerdictView:
    text = given.verdict.text
    return TextVerdictView(
        verdict=given.verdict.verdict,
        text=None if text is None else printable(text),
        note=None if given.note is None else printable(given.note),
        at_ms=int(given.at.timestamp() * 1000),
        by=given.by,
    )

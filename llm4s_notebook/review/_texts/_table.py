"""Guardrail by verdict: how often each one was right (T2.3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import Literal

from ...wire import GuardrailCounts

HEADINGS = ("refused", "right", "false alarms", "edited", "undecided", "fixed", "errors")
"""The columns in words, in the order of the counts."""
ALL = "all texts"

Counted = Literal["refused", "block", "allow", "edit", "undecided", "fixed", "errors"]


@dataclass(slots=True)
class Counts:
    """Texts one guardrail refused; of these: blocked by the person (right), allowed (false alarms), edited, undecided.
    Beside them texts that it changed, and texts that it failed on."""

    refused: int = 0
    block: int = 0
    allow: int = 0
    edit: int = 0
    undecided: int = 0
    fixed: int = 0
    errors: int = 0

    def add(self, what: Counted, by: int) -> None:
        setattr(self, what, getattr(self, what) + by)

    def numbers(self) -> list[int]:
        """The counts in the order of `HEADINGS`."""
        return [getattr(self, one.name) for one in fields(self)]

    def as_wire(self, guardrail: str) -> GuardrailCounts:
        return GuardrailCounts(guardrail=guardrail, **{one.name: getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True)
class TextTable:
    """The table, as a cell's value and for code: `rows` by guardrail, and `total`, in which each text counts once."""

    rows: dict[str, Counts]
    total: Counts = field(default_factory=Counts)

    def to_records(self) -> list[dict[str, object]]:
        """One row for each guardrail, then the total, under the headings shown."""
        return [{"guardrail": name, **dict(zip(HEADINGS, counts.numbers(), strict=True))} for name, counts in self._lines()]

    def _lines(self) -> list[tuple[str, Counts]]:
        return [*self.rows.items(), (ALL, self.total)]

    def __repr__(self) -> str:
        lines = [["guardrail", *HEADINGS], *([name, *map(str, counts.numbers())] for name, counts in self._lines())]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(_line(line, widths) for line in lines)

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col" style="text-align:{_align(name)}">{escape(name)}</th>' for name in ("guardrail", *HEADINGS))
        rows = "".join(
            f'<tr><th scope="row" style="text-align:left"><bdi>{escape(name)}</bdi></th>'
            + "".join(f'<td style="text-align:right">{number}</td>' for number in counts.numbers())
            + "</tr>"
            for name, counts in self._lines()
        )
        return f'<table class="llm4s-text-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    numbers = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return "  ".join((cells[0].ljust(widths[0]), *numbers))


def _align(heading: str) -> str:
    return "left" if heading == "guardrail" else "right"

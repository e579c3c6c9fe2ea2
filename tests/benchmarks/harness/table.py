"""The outcomes as a table: for a terminal, and as Markdown."""

from __future__ import annotations

from .goal import Outcome

HEADINGS = ("", "what", "floor", "langgraph", "project", "÷ floor", "langgraph ÷", "goal", "")


def terminal(outcomes: list[Outcome]) -> str:
    rows = [HEADINGS, *map(_cells, outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(map(_aligned, row, widths, range(len(row)))).rstrip() for row in rows)


def markdown(outcomes: list[Outcome]) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|---|---|---:|---:|---:|---:|---:|---|---|"]
    lines += ["| " + " | ".join(_cells(outcome)) + " |" for outcome in outcomes]
    return "\n".join(lines)


def _cells(outcome: Outcome) -> tuple[str, ...]:
    return (
        outcome.work,
        outcome.what,
        amount(outcome.number, outcome.floor),
        amount(outcome.number, outcome.langgraph),
        amount(outcome.number, outcome.project),
        _times(outcome.of_floor),
        _times(outcome.of_langgraph),
        outcome.wants,
        {True: "met", False: "missed", None: ""}[outcome.met],
    )


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if 2 <= column <= 6 else cell.ljust(width)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else _digits(ratio)


def amount(number: str, value: float | None) -> str:
    """A number with its unit, which its name ends in."""
    if value is None:
        return ""
    if number.endswith("_us"):
        for unit, factor in (("s", 1e6), ("ms", 1e3)):
            if value >= factor:
                return f"{_digits(value / factor)} {unit}"
        return f"{_digits(value)} µs"
    if number.startswith("bytes"):
        return f"{_digits(value / 1000)} kB"
    if number.endswith("_mib"):
        return f"{_digits(value)} MiB"
    return _digits(value)


def _digits(value: float) -> str:
    """Three digits that count."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.01 or value == 0 else f"{value:.1g}"

"""The generated part of docs/performance.md: between its two marks, and nothing else of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .result import outcomes_of
from .table import markdown

BEGIN = "<!-- written by tests/benchmarks: begin -->"
END = "<!-- written by tests/benchmarks: end -->"


def write_page(page: Path, result: dict[str, Any]) -> None:
    """Raises: ValueError when the page lacks a mark."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} lacks a line '{BEGIN}' and behind it a line '{END}'")
    page.write_text(f"{before}{BEGIN}\n\n{_generated(result)}\n\n{END}{after}", encoding="utf-8")


def _generated(result: dict[str, Any]) -> str:
    where, outcomes = result["machine"], outcomes_of(result)
    judged = [outcome for outcome in outcomes if outcome.met is not None]
    met = sum(outcome.met is True for outcome in judged)
    packages = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        f"Measured {result['date'][:10]} on {where['system']}; {where['cores']} cores, {where['processor']}, {where['memory']}, "
        f"files on {where['filesystem']}.",
        f"Medians of {result['reps']} repeats, each in a process of its own; {result['started_on_a_busy_machine']} of "
        f"{result['started']} started while other work took more than 40 % of the machine.",
        f"Versions: {packages}" + (f"; commit {result['commit']}." if result["commit"] else "."),
        "",
        f"{met} of {len(judged)} goals met.",
        "",
        markdown(outcomes),
    ]
    return "\n".join(lines)

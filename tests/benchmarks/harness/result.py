"""One run's results as they are written to a file: where and when, every number with its spread, and how the goals came out."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from .case import Case, work_item
from .conduct import Conductor, Samples
from .goal import Outcome
from .machine import machine, project_commit, versions


def result_of(conductor: Conductor, cases: list[Case], reps: int) -> dict[str, Any]:
    works = list(dict.fromkeys(case.work for case in cases))
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "commit": project_commit(),
        "reps": reps,
        "started": conductor.started,
        "started_on_a_busy_machine": conductor.busy,
        "failed": conductor.failed,
        "goals": [asdict(outcome) for outcome in _outcomes(works, conductor.samples)],
        "cases": {key: {name: _spread(values) for name, values in numbers.items()} for key, numbers in sorted(conductor.samples.items())},
    }


def outcomes_of(result: dict[str, Any]) -> list[Outcome]:
    return [Outcome(**one) for one in result["goals"]]


def write(result: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _outcomes(works: list[str], samples: Samples) -> list[Outcome]:
    medians = {key: {name: median(values) for name, values in numbers.items()} for key, numbers in samples.items()}
    return [goal.outcome(work, medians) for work in works for goal in work_item(work).GOALS]


def _spread(values: list[float]) -> dict[str, Any]:
    return {"median": _short(median(values)), "min": _short(min(values)), "max": _short(max(values)), "repeats": len(values)}


def _short(value: float) -> float:
    """Six digits: no clock here knows more."""
    return float(f"{value:.6g}")

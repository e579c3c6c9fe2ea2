"""One run's results as they are written to a file: where and when, every number with its spread, and how the goals came out."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from .case import Case, work_item
from .conduct import Conductor
from .goal import Outcome
from .machine import machine, project_commit, versions


def result_of(conductor: Conductor, cases: list[Case], reps: int) -> dict[str, Any]:
    spreads = {key: {name: _spread(values) for name, values in numbers.items()} for key, numbers in conductor.samples.items()}
    result: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "commit": project_commit(),
        "reps": reps,
        "started": conductor.started,
        "started_on_a_busy_machine": conductor.busy,
        "failed": conductor.failed,
        "works": list(dict.fromkeys(case.work for case in cases)),
        "cases": spreads,
    }
    result["goals"] = [asdict(outcome) for outcome in outcomes_of(result)]
    return result


def outcomes_of(result: dict[str, Any], cpu: bool = False) -> list[Outcome]:
    """How the goals came out; with `cpu` by the processor's time, which other work on the machine changes little."""
    medians = {key: {name: spread["median"] for name, spread in numbers.items()} for key, numbers in result["cases"].items()}
    if cpu:
        for numbers in medians.values():
            numbers.update({name.replace("_cpu_us", "_us"): value for name, value in numbers.items() if name.endswith("_cpu_us")})
    return [goal.outcome(work, medians) for work in result["works"] for goal in work_item(work).GOALS]


def write(result: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _spread(values: list[float]) -> dict[str, Any]:
    return {"median": _short(median(values)), "min": _short(min(values)), "max": _short(max(values)), "repeats": len(values)}


def _short(value: float) -> float:
    """Six digits: no clock here knows more."""
    return float(f"{value:.6g}")

"""Runs the cases: each in a fresh process, the peers side by side, the repeats one after another, so that a slow minute hits all alike."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .case import Case

CHILD = Path(__file__).parents[1] / "child.py"
TIMEOUT = 900.0
"""Seconds that one case may take."""
IDLE_ENOUGH = 0.6
"""The share of the machine that should be idle before a case starts."""

Samples = dict[str, dict[str, list[float]]]
"""Of each "WORK MODE PEER", of each of its numbers, what every repeat found."""


class Conductor:
    """`samples` and `failed` grow while `run` goes on. `busy` of `started` cases did not find an idle machine in `patience` seconds."""

    def __init__(self, cases: list[Case], reps: int, patience: float) -> None:
        self._cases = cases
        self._reps = reps
        self._patience = patience
        self.samples: Samples = {}
        self.failed: dict[str, str] = {}
        self.started = 0
        self.busy = 0

    def run(self) -> None:
        """All repeats with the stopwatch, then each case that counts once. Says on stderr what it is at."""
        with tempfile.TemporaryDirectory(prefix="bench-compiled-") as compiled:
            for what, number, case in self._plan():
                key = f"{case.name} {case.peer}"
                if key in self.failed:
                    continue
                _tell(f"{'counting' if what == 'count' else f'{number} of {self._reps}'}  {key}")
                try:
                    found = self._child(case, what, compiled)
                except (subprocess.SubprocessError, ValueError) as error:
                    self.failed[key] = _said(error)
                    continue
                for name, value in found.items():
                    self.samples.setdefault(key, {}).setdefault(name, []).append(value)
        _tell("")

    def _plan(self) -> Iterator[tuple[str, int, Case]]:
        for number in range(1, self._reps + 1):
            yield from (("time", number, case) for case in self._cases if case.mode.timed)
        yield from (("count", 1, case) for case in self._cases if case.mode.counts is not None)

    def _child(self, case: Case, what: str, compiled: str) -> dict[str, float]:
        if what == "time":
            self.started += 1
            self.busy += not _idle(self._patience)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each import would be compiled again, and that be measured
        command = [sys.executable, str(CHILD), case.work, case.mode.name, case.peer, what]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT, env=environment)
        return json.loads(done.stdout.splitlines()[-1])


def _tell(text: str) -> None:
    """One line of a terminal that is written over again and again; nothing where nobody looks."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _said(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return (error.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    return str(error)


def _idle(patience: float) -> bool:
    """Wait until others leave enough of the machine; False when they did not within `patience` seconds."""
    if not os.path.exists("/proc/stat"):
        return True
    end = time.monotonic() + patience
    while True:
        idle, total = _ticks()
        time.sleep(0.15)
        idle_now, total_now = _ticks()
        if total_now > total and (idle_now - idle) / (total_now - total) >= IDLE_ENOUGH:
            return True
        if time.monotonic() >= end:
            return False


def _ticks() -> tuple[int, int]:
    with open("/proc/stat") as file:
        ticks = [int(one) for one in file.readline().split()[1:]]
    return ticks[3] + ticks[4], sum(ticks)

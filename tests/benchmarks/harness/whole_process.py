"""Python processes that are measured from outside, from start to exit."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    wall_us: float
    cpu_us: float
    printed: str


def python(*arguments: str | Path) -> Ended:
    """Run it to its end. `-P`: a script's own folder, where files are named after packages, is no place to import from.

    Raises: RuntimeError with what it wrote when it fails.
    """
    command = [sys.executable, "-P", *map(str, arguments)]
    worked, start = _worked(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall = (time.perf_counter() - start) * 1e6
    if done.returncode:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr}")
    return Ended(wall, (_worked() - worked) * 1e6, done.stdout)


def _worked() -> float:
    """Seconds of processor time of all child processes that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime

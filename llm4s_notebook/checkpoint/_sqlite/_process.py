"""Which process holds a claim, and whether it is provably dead (D8).

A process is named by the boot it lives in, its pid namespace, its pid and its start time: a pid alone is reused.
Only Linux tells all four; elsewhere a claim carries no mark and only its lease counts.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_STATE, _START = 0, 19  # of /proc/<pid>/stat, counted behind the command name
_ENDED = ("Z", "X", "x")


@dataclass(frozen=True, slots=True)
class ProcessMark:
    """One process on one host, for good."""

    boot: str
    namespace: str
    pid: int
    start: int

    def to_text(self) -> str:
        return f"{self.boot} {self.namespace} {self.pid} {self.start}"

    @classmethod
    def from_text(cls, text: str) -> ProcessMark | None:
        """The mark again; None for text that is none."""
        parts = text.split(" ")
        if len(parts) != 4 or not (parts[2].isdecimal() and parts[3].isdecimal()):
            return None
        return cls(parts[0], parts[1], int(parts[2]), int(parts[3]))


def this_process() -> ProcessMark | None:
    """The mark of the calling process; None where the platform does not tell."""
    if sys.platform != "linux":
        return None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return None
    stat = _stat(os.getpid())
    return ProcessMark(boot, namespace, os.getpid(), int(stat[_START])) if stat else None


def provably_dead(mark: ProcessMark) -> bool:
    """True only if the process was of this boot and this pid namespace and is no more; every doubt is a no."""
    here = this_process()
    if here is None or (here.boot, here.namespace) != (mark.boot, mark.namespace):
        return False
    stat = _stat(mark.pid)
    if stat is not None:
        return stat[_STATE] in _ENDED or int(stat[_START]) != mark.start
    return not _exists(mark.pid)


def _stat(pid: int) -> list[str] | None:
    """The fields behind the command name, which may itself hold blanks and brackets; None if the process cannot be seen."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return fields if len(fields) > _START else None


def _exists(pid: int) -> bool:
    """A process that /proc hides may exist all the same. Linux only: elsewhere signal 0 is not harmless."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

"""Two meters for the same work: one takes its time, the other counts what it does. A case is run by each in a process of its own."""

from __future__ import annotations

import cProfile
import gc
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from statistics import median
from typing import Protocol

from .sqlite_counts import SqliteCounts


class Meter(Protocol):
    """What a work item reports to."""

    counting: bool
    numbers: dict[str, float]
    statements: dict[str, list[str]]
    """Of each span, where it is counted, the SQL that was executed."""

    def span(self, name: str, per: int = 1) -> AbstractContextManager[None]:
        """Measure what is done while this is entered, divided by `per`. Of several spans of one name the median counts."""
        ...

    def add(self, name: str, value: float) -> None:
        """One of several samples that the work item took itself; their median counts."""
        ...

    def note(self, name: str, value: float) -> None:
        """A number that the work item found itself."""
        ...


class _Numbers:
    def __init__(self) -> None:
        self.numbers: dict[str, float] = {}
        self.statements: dict[str, list[str]] = {}
        self._samples: dict[str, list[float]] = {}

    def note(self, name: str, value: float) -> None:
        self.numbers[name] = value

    def add(self, name: str, value: float) -> None:
        samples = self._samples.setdefault(name, [])
        samples.append(value)
        self.numbers[name] = median(samples)

    def _settle(self, name: str) -> None:
        """Garbage of what went before is no cost of this."""
        if name not in self._samples:
            gc.collect()


class Stopwatch(_Numbers):
    """Notes `<name>_us`, microseconds of wall clock, and `<name>_cpu_us`, those of the processor, in all threads."""

    counting = False

    @contextmanager
    def span(self, name: str, per: int = 1) -> Iterator[None]:
        self._settle(f"{name}_us")
        worked, start = time.process_time(), time.perf_counter()
        yield
        wall, work = time.perf_counter() - start, time.process_time() - worked
        self.add(f"{name}_us", wall * 1e6 / per)
        self.add(f"{name}_cpu_us", work * 1e6 / per)


class Counter(_Numbers):
    """Notes `<name>_calls`, the function calls of the thread that runs the event loop, and, where a SQLite file is used, `<name>_commits`,
    `<name>_rows` and `<name>_vm_steps` of all threads."""

    counting = True

    def __init__(self) -> None:
        super().__init__()
        self._sqlite = SqliteCounts.installed()

    @contextmanager
    def span(self, name: str, per: int = 1) -> Iterator[None]:
        self._settle(f"{name}_calls")
        before, first = self._sqlite.now(), len(self._sqlite.statements)
        profile = cProfile.Profile()
        profile.enable()
        yield
        profile.disable()
        calls = sum(entry.callcount for entry in profile.getstats())
        self.add(f"{name}_calls", calls / per)
        if self._sqlite.used:
            after = self._sqlite.now()
            self.add(f"{name}_commits", (after.commits - before.commits) / per)
            self.add(f"{name}_rows", (after.rows - before.rows) / per)
            self.add(f"{name}_vm_steps", (after.vm_steps - before.vm_steps) / per)
            self.statements[name] = self._sqlite.statements[first:]

"""What one run is told: who acts, where it is held, how much it may use, and what is written when (R1.30, R1.31)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, cast

from ..errors import ConfigError
from ._given import text_problem

_LONGEST: Final = 10**9  # seconds


class Durability(StrEnum):
    """When a run's progress is written (graph-runtime.md 6.5)."""

    SYNC = "sync"
    ASYNC = "async"
    ON_EXIT = "on_exit"


class BreakpointPhase(StrEnum):
    """On which side of its node's call a task is held (R5.1)."""

    BEFORE = "Before"
    AFTER = "After"


class Breakpoint:
    """The one answer a breakpoint takes: JSON null (R5.23)."""

    proceed: Final = None


def _positive(given: object) -> bool:
    """A number above zero; true and false are none."""
    return isinstance(given, (int, float)) and not isinstance(given, bool) and given > 0


@dataclass(frozen=True, slots=True)
class RunBudgets:
    """How much one run may use: supersteps, tasks at once, and `timeout` seconds from its claim (R1.31, R3.26).

    Raises: ConfigError unless all are positive; the first two are whole numbers, and no timeout is None.
    """

    max_supersteps: int = 1000
    max_concurrency: int = 16
    timeout: float | None = None

    def __post_init__(self) -> None:
        counts = {"max_supersteps": self.max_supersteps, "max_concurrency": self.max_concurrency}
        problems = [
            f"{name} is {value!r}, and must be a whole number above zero"
            for name, value in counts.items()
            if not (isinstance(value, int) and _positive(value))  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        ]
        if self.timeout is not None and not _positive(self.timeout):
            problems.append(f"timeout is {self.timeout!r}, and must be a number of seconds above zero")
        if problems:
            raise ConfigError(field="budgets", problems=problems)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The settings of one run; none of it is inherited by the thread's next run (R1.30, R5.3).

    `run_id` None means a fresh one for each run. `principal` is who acts: recorded, never checked (D9).

    Raises: ConfigError for values of other types.
    """

    interrupt_before: frozenset[str] = frozenset()
    interrupt_after: frozenset[str] = frozenset()
    budgets: RunBudgets = RunBudgets()
    durability: Durability = Durability.SYNC
    run_id: str | None = None
    principal: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        problems: list[str] = []
        for name in ("interrupt_before", "interrupt_after"):
            ids = _ids(getattr(self, name))
            problems += [f"{name} names {id!r}, which is no node id" for id in ids if not isinstance(id, str)]  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            object.__setattr__(self, name, ids)
        if type(self.durability) is not Durability:
            try:
                object.__setattr__(self, "durability", Durability(self.durability))
            except ValueError:
                problems.append(f"durability is {self.durability!r}, and must be one of {', '.join(Durability)}")
        if not isinstance(self.budgets, RunBudgets):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            problems.append(f"budgets is {self.budgets!r}, and must be RunBudgets")
        if not isinstance(self.metadata, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            problems.append(f"metadata is {self.metadata!r}, and must be a mapping")
        problems += [problem for problem in (_unfit("run_id", self.run_id), _unfit("principal", self.principal)) if problem]
        if problems:
            raise ConfigError(field="config", problems=problems)


def _unfit(name: str, given: object) -> str | None:
    """What keeps a name from being recorded."""
    if given is None or (isinstance(given, str) and given.isascii()):
        return None
    return text_problem(name, given)


def _ids(given: object) -> frozenset[str]:
    """A single id stands for the set of it."""
    if isinstance(given, str):
        return frozenset((given,))
    try:
        return frozenset(cast("Iterable[str]", given))
    except TypeError as error:
        raise ConfigError(field="config", problems=[f"breakpoints are node ids, not {given!r}"]) from error


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """How long a run's claim lasts without renewal, and how often it is renewed, in seconds (R6.24).

    Raises: ConfigError unless both are positive, `renew_every` is the smaller, and a claim ends within some 31 years.
    """

    ttl: float = 30.0
    renew_every: float = 10.0

    def __post_init__(self) -> None:
        if not (_positive(self.renew_every) and _positive(self.ttl) and self.renew_every < self.ttl <= _LONGEST):
            problem = f"renew_every ({self.renew_every!r}) must be above zero and below ttl ({self.ttl!r}), which is at most {_LONGEST}"
            raise ConfigError(field="claims", problems=[problem])

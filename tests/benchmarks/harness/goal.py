"""What the project must reach, as ratios to the peers of the same run and as counts. Seconds alone are no goal: machines differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Results = Mapping[str, Mapping[str, float]]
"""Of each "WORK MODE PEER" the numbers; of a run of several repeats their medians."""


@dataclass(frozen=True)
class Outcome:
    """One line of the table. None stands for what was not run."""

    work: str
    what: str
    number: str
    project: float | None
    floor: float | None = None
    langgraph: float | None = None
    of_floor: float | None = None
    of_langgraph: float | None = None
    wants: str = ""
    met: bool | None = None


Three = tuple[float | None, float | None, float | None]
"""The project's number, the floor's and langgraph's."""


def _numbers(results: Results, work: str, mode: str, number: str) -> Three:
    project, floor, langgraph = (results.get(f"{work} {mode} {peer}", {}).get(number) for peer in ("project", "floor", "langgraph"))
    return project, floor, langgraph


@dataclass(frozen=True)
class Ratio:
    """The project needs at most `floor` times what the floor needs; langgraph needs at least `langgraph` times what the project needs.

    Without either the line is there to be read, and is no goal.
    """

    mode: str
    number: str
    what: str
    floor: float | None = None
    langgraph: float | None = None

    def outcome(self, work: str, results: Results) -> Outcome:
        project, floor, langgraph = _numbers(results, work, self.mode, self.number)
        of_floor, of_langgraph = _divided(project, floor), _divided(langgraph, project)
        wants: list[str] = []
        verdicts: list[bool | None] = []
        if self.floor is not None:
            wants.append(f"÷ floor ≤ {self.floor:g}")
            verdicts.append(None if of_floor is None else of_floor <= self.floor)
        if self.langgraph is not None:
            wants.append(f"langgraph ÷ ≥ {self.langgraph:g}")
            verdicts.append(None if of_langgraph is None else of_langgraph >= self.langgraph)
        return Outcome(work, self.what, self.number, project, floor, langgraph, of_floor, of_langgraph, ", ".join(wants), _all(verdicts))


@dataclass(frozen=True)
class Limit:
    """The project's number is at most this."""

    mode: str
    number: str
    what: str
    at_most: float

    def outcome(self, work: str, results: Results) -> Outcome:
        project, floor, langgraph = _numbers(results, work, self.mode, self.number)
        met = None if project is None else project <= self.at_most
        return Outcome(work, self.what, self.number, project, floor, langgraph, wants=f"≤ {self.at_most:,g}", met=met)


@dataclass(frozen=True)
class Growth:
    """One of the project's numbers is at most so many times another: the larger work against the smaller. Each is "MODE/NUMBER"."""

    large: str
    small: str
    what: str
    at_most: float

    def outcome(self, work: str, results: Results) -> Outcome:
        large, small = (_numbers(results, work, *one.rsplit("/", 1)) for one in (self.large, self.small))
        project, floor, langgraph = map(_divided, large, small)
        met = None if project is None else project <= self.at_most
        return Outcome(work, self.what, "ratio", project, floor, langgraph, wants=f"≤ {self.at_most:g}", met=met)


def _divided(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _all(verdicts: list[bool | None]) -> bool | None:
    """Missed if one is; unknown if one is, or if there are none."""
    if False in verdicts:
        return False
    return None if None in verdicts or not verdicts else True


Goal = Ratio | Limit | Growth

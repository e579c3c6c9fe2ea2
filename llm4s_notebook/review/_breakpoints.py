"""Breakpoints that a person has set on the diagram (W3.2, D15)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from ..graph import BreakpointPhase, RunConfig

Holds: TypeAlias = Mapping[tuple[str, BreakpointPhase], frozenset[str]]


class Breakpoints:
    """What the person holds: pairs of a node drawn on the diagram and a phase.

    They go with the session's run, answer and recover and add to the agent's own, which are drawn as fixed. They are not
    stored. `expand` gives the node ids that one switch stands for - an agent's step includes the nodes that continue it -
    and raises ConfigError for a node that has no switch.
    """

    def __init__(self, expand: Callable[[str, BreakpointPhase], frozenset[str]], changed: Callable[[], None]) -> None:
        self._expand = expand
        self._changed = changed
        self._set: dict[tuple[str, BreakpointPhase], frozenset[str]] = {}
        self._lock = threading.Lock()

    def hold(self, node: str, phase: BreakpointPhase, on: bool = True) -> None:
        """Switch one of a node's two breakpoints. It applies from the next run or resume.

        Raises: ConfigError for a node the graph does not have, or one that is held through its step.
        """
        nodes = self._expand(node, phase)
        with self._lock:
            changed = dict(self._set)
            if on:
                changed[node, phase] = nodes
            else:
                changed.pop((node, phase), None)
            self._set = changed
        self._changed()

    def clear(self) -> None:
        """Switch all of them off; the agent's own stay."""
        with self._lock:
            self._set = {}
        self._changed()

    def swap(self, holds: Holds) -> Holds:
        """Put others in their place, as they were taken from here before; nobody is told."""
        with self._lock:
            before, self._set = self._set, dict(holds)
        return before

    def is_held(self, node: str, phase: BreakpointPhase) -> bool:
        """Whether the person has switched this one on."""
        return (node, phase) in self._set

    def nodes(self, phase: BreakpointPhase) -> frozenset[str]:
        """Every node id held in that phase, continuation nodes included."""
        return frozenset[str]().union(*(nodes for (_, at), nodes in self._set.items() if at is phase))

    def applied_to(self, config: RunConfig) -> RunConfig:
        """The configuration with these breakpoints added."""
        return replace(
            config,
            interrupt_before=config.interrupt_before | self.nodes(BreakpointPhase.BEFORE),
            interrupt_after=config.interrupt_after | self.nodes(BreakpointPhase.AFTER),
        )

    def __repr__(self) -> str:
        held = ", ".join(f"{phase.name} {node}" for node, phase in self._set)
        return f"Breakpoints({held})"

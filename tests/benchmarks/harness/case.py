"""What is run: a work item does the same work with each peer, in one or more modes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

PEERS = ("floor", "langgraph", "project")
WORK = {
    "W1": "w1_supersteps",
    "W2": "w2_fan_out",
    "W3": "w3_agent_turn",
    "W4": "w4_long_thread",
    "W5": "w5_resume",
    "W5 cold": "w5_cold_resume",
    "W6": "w6_many_questions",
    "W7": "w7_import",
    "W8": "w8_inbox",
    "W9": "w9_many_threads",
    "W10": "w10_cards",
    "W11": "w11_click",
}
IN_A_BROWSER = ("W10", "W11")
"""Run only when named: they need a Chromium, and W11 a JupyterLab."""


@dataclass(frozen=True)
class Mode:
    """One way to do a work item.

    `store`: none (nothing is kept), memory, normal or full (a SQLite file with that `synchronous`). `sizes` go to the work item's
    `measure`; `counts` are the sizes for the counting run, None for no such run.
    """

    name: str
    store: str
    sizes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, int] | None = None
    timed: bool = True
    peers: tuple[str, ...] = PEERS


@dataclass(frozen=True)
class Peer:
    """Who does the work: its name, and its module of a work item, imported when first asked for."""

    work: str
    name: str

    @property
    def module(self) -> ModuleType:
        return importlib.import_module(f"work.{WORK[self.work]}.{self.name}")

    @property
    def script(self) -> Path:
        """The module's file, for a work item that is about whole processes."""
        return Path(__file__).parents[1] / "work" / WORK[self.work] / f"{self.name}.py"


@dataclass(frozen=True)
class Case:
    """One mode of one work item with one peer: what a fresh process runs."""

    work: str
    mode: Mode
    peer: str

    @property
    def name(self) -> str:
        return f"{self.work} {self.mode.name}"


def work_item(work: str) -> ModuleType:
    """A work item: its MODES, GOALS and `measure`."""
    return importlib.import_module(f"work.{WORK[work]}")


def cases(works: list[str], peers: list[str]) -> list[Case]:
    """In the order in which they are run: the peers of a mode side by side."""
    return [
        Case(work, mode, peer) for work in works for mode in work_item(work).MODES for peer in PEERS if peer in peers and peer in mode.peers
    ]

"""What admission hands over to the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..checkpoint import Value
from ._compiled import CompiledGraph
from ._config import RunConfig
from ._drafts import Drafts
from ._execution import Execution
from ._outcome import TaskResult


class Admitted(Value, frozen=True, gc=True, eq=False):
    """A thread that is claimed, and where its run begins."""

    graph: CompiledGraph[Any, Any]
    execution: Execution
    drafts: Drafts
    birth_id: str
    config: RunConfig
    checkpoint_id: str
    settled: str | None
    token: int
    opening: int
    began: int
    recorded: Mapping[str, TaskResult] = {}

"""The pure files carry the property tests; they can, because they know neither a loop nor a store's database (architecture)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import llm4s_notebook.graph as graph

FOLDER = Path(graph.__file__).parent
PURE = ("_frontier", "_interrupt", "_breakpoint", "_execution", "_state", "_check", "_record", "_restore", "_reuse", "_snapshot", "_plan")


@pytest.mark.parametrize("name", PURE)
def test_a_pure_file_imports_neither_asyncio_nor_a_database(name: str) -> None:
    """design: `_frontier`, `_interrupt`, `_breakpoint` and what they stand on."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add((node.module or "").split(".")[0])
    assert not imported & {"asyncio", "sqlite3", "threading", "time", "random"}


def test_the_public_names_are_those_of_the_api() -> None:
    """api.md `llm4s_notebook.graph`."""
    wanted = (
        "StateKey ThreadState RunContext Command Suspend Fail Block GraphBuilder CompiledGraph RunConfig RunBudgets Durability "
        "BreakpointPhase Breakpoint PendingInterrupt Completed Suspended GraphRuntime RunHandle RunStatus Resumed "
        "NodeRef ResumeRef StaticJoin DynamicJoin Execution GraphTopology Answer Answers ClaimPolicy events"
    )
    assert set(wanted.split()) <= set(graph.__all__)
    assert all(hasattr(graph, name) for name in graph.__all__)
    told = (
        "RunStarted RunRecovered RunResumed TaskCompleted TaskFailed TaskSuspended CheckpointCommitted RunSuspended RunCompleted RunFailed "
        "RunCancelled RunTimedOut Custom ThreadSeeded ThreadForked StateUpdated Progress Gap EventRecord RunEvent"
    )
    assert set(graph.events.__all__) == set(told.split())

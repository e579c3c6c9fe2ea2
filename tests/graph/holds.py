"""Short ways to say what is held, and to let it go."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.graph import Breakpoint, BreakpointPhase, CompiledGraph, Completed, GraphRuntime, RunConfig, Suspended

BEFORE, AFTER = BreakpointPhase.BEFORE, BreakpointPhase.AFTER


def before(*nodes: str) -> RunConfig:
    return RunConfig(interrupt_before=frozenset(nodes))


def after(*nodes: str) -> RunConfig:
    return RunConfig(interrupt_after=frozenset(nodes))


async def proceed(
    runtime: GraphRuntime, graph: CompiledGraph[Any, Any], *which: str, config: RunConfig | None = None
) -> Completed[Any] | Suspended:
    return await (await runtime.resume("t", graph, {id: Breakpoint.proceed for id in which}, config or RunConfig()))

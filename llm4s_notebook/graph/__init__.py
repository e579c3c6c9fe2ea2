"""Keys, builder, supersteps, joins, interrupts, breakpoints and durable runs: the runtime under every agent.
Knows no language model and no front end."""

from __future__ import annotations

from . import events
from ._answer import Answer, Answers
from ._bare import bare
from ._builder import GraphBuilder
from ._command import Command
from ._compiled import CompiledGraph
from ._config import Breakpoint, BreakpointPhase, ClaimPolicy, Durability, RunBudgets, RunConfig
from ._context import RunContext
from ._execution import Execution
from ._handle import RunHandle, RunStatus
from ._interrupt import given_answers
from ._journal import TaskRecord, task_records
from ._key import StateKey
from ._outcome import Completed, PendingInterrupt, Suspended
from ._refs import DynamicJoin, NodeRef, ResumeRef, StaticJoin
from ._results import Block, Fail, NodeResult, Suspend
from ._resumed import Resumed
from ._runtime import GraphRuntime
from ._state import ThreadState
from ._topology import GraphTopology, JoinShape, NodeShape
from ._value_path import value_path

__all__ = [
    "Answer",
    "Answers",
    "Block",
    "Breakpoint",
    "BreakpointPhase",
    "ClaimPolicy",
    "Command",
    "CompiledGraph",
    "Completed",
    "Durability",
    "DynamicJoin",
    "Execution",
    "Fail",
    "GraphBuilder",
    "GraphRuntime",
    "GraphTopology",
    "JoinShape",
    "NodeRef",
    "NodeResult",
    "NodeShape",
    "PendingInterrupt",
    "ResumeRef",
    "Resumed",
    "RunBudgets",
    "RunConfig",
    "RunContext",
    "RunHandle",
    "RunStatus",
    "StateKey",
    "StaticJoin",
    "Suspend",
    "Suspended",
    "TaskRecord",
    "ThreadState",
    "bare",
    "events",
    "given_answers",
    "task_records",
    "value_path",
]

"""Any hand-built graph under review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic.errors import PydanticInvalidForJsonSchema

from ..agent import json_schema_of
from ..checkpoint import Checkpointer, CheckpointStatus
from ..errors import ConfigError, ResumeProblem
from ..graph import Answers, BreakpointPhase, CompiledGraph, Completed, GraphRuntime, PendingInterrupt, RunConfig, Suspended
from ..wire import GraphPicture, Json, JsonObject, PendingCard
from ._picture import graph_children, graph_part, picture
from ._thread import NEW, Run, Stored


@dataclass(frozen=True)
class GraphThread:
    """A compiled graph and the runtime its threads live in."""

    runtime: GraphRuntime
    graph: CompiledGraph[Any, Any]

    @property
    def is_agent(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return self.graph.id

    @property
    def checkpointer(self) -> Checkpointer:
        return self.runtime.checkpointer

    # -- runs --------------------------------------------------------------------------------------------------------

    async def start(self, query: Any, thread_id: str, config: RunConfig) -> Run:
        return await self.runtime.start(thread_id, self.graph, query, config)

    async def resume(self, thread_id: str, answers: Answers, config: RunConfig) -> Run:
        return await self.runtime.resume(thread_id, self.graph, answers, config)

    async def recover(self, thread_id: str, config: RunConfig) -> Run:
        return await self.runtime.recover(thread_id, self.graph, config)

    async def abandon(self, thread_id: str) -> Any:
        await self.runtime.abandon(thread_id, self.graph)

    @property
    def unbegun(self) -> Stored:
        return NEW

    async def load(self, thread_id: str) -> Stored:
        waiting = await self.runtime.pending(thread_id, self.graph)
        if waiting is not None:
            return self.stored(waiting)
        head = await self.checkpointer.head(thread_id)
        match head.status:
            case None:
                return NEW
            case CheckpointStatus.RUNNING:
                return Stored(status="unfinished", waiting={})
            case CheckpointStatus.FAILED:
                return Stored(status="blocked", said="the turn was blocked; nothing of it is kept", waiting={})
            case _:
                latest = await self.checkpointer.latest(thread_id)
                if latest is None:
                    return NEW
                return self.stored(self.graph.conclude(self.graph.restore(latest.checkpoint)))

    def stored(self, result: Completed[Any] | Suspended) -> Stored:
        if isinstance(result, Completed):
            return Stored(status="completed", result=result, answer=_said(result.output), waiting={})
        return Stored(
            status="suspended",
            result=result,
            cards=tuple(self._card(pending) for pending in result.interrupts),
            waiting={pending.id: _line(pending) for pending in result.interrupts},
        )

    def _card(self, pending: PendingInterrupt) -> PendingCard:
        phase = pending.breakpoint
        side = None if phase is None else phase.name.lower()
        return PendingCard(
            id=pending.id,
            kind="QUESTION" if phase is None else "BREAKPOINT",
            title=f"{pending.resume_node} asks" if phase is None else f"held {side} {pending.resume_node}",
            agent=None,
            node=pending.resume_node,
            since_ms=None,
            tool_name=None,
            arguments=None,
            arguments_schema=None,
            reason=None,
            destructive=False,
            source=None,
            question=cast(Json, pending.question),
            answer_schema=self._answer_schema(pending.resume_node) if phase is None else None,
            lenient=False,
            middleware=None,
            hook=None,
            guardrail=None,
            phase=None if phase is None else cast(Any, phase.name),
            result=None,
            message=None,
            default_reject_reason=None,
        )

    def _answer_schema(self, node: str) -> JsonObject | None:
        answer = self.graph.plan.nodes[node].answer
        if answer is None:
            return None
        try:
            return cast(JsonObject, json_schema_of(answer.adapter))
        except PydanticInvalidForJsonSchema:
            return None  # the form falls back to JSON; the resume checks it all the same

    # -- the diagram -------------------------------------------------------------------------------------------------

    def picture(self) -> GraphPicture:
        return picture(self.graph.topology(), graph_part, graph_children)

    def expand(self, node: str, phase: BreakpointPhase) -> frozenset[str]:
        if all(shape.id != node for shape in self.graph.topology().nodes):
            raise ConfigError(field="breakpoints", problems=[f"graph '{self.graph.id}' does not have node '{node}'"])
        return frozenset({node})

    def check_edit(self, interrupt_id: str, stored: Stored, arguments: Mapping[str, Any]) -> list[ResumeProblem]:
        return []  # only an agent has approvals


def _said(output: object) -> str | None:
    return None if output is None else str(output)


def _line(pending: PendingInterrupt) -> str:
    if pending.breakpoint is not None:
        return f"PendingInterrupt(BREAKPOINT {pending.id}: {pending.breakpoint.name} {pending.resume_node})"
    return f"PendingInterrupt(QUESTION {pending.id}: {pending.resume_node} {pending.question!r})"

"""An agent as a session drives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..agent import Agent, AgentNode, AgentResult, GuardrailReviewMiddleware
from ..checkpoint import Checkpointer
from ..errors import ConfigError, ResumeProblem, ThreadNotFound
from ..graph import Answers, BreakpointPhase, CompiledGraph, GraphRuntime, RunConfig
from ..models import Message
from ..wire import GraphPicture
from ._agent_view import message_views, stored_turn
from ._picture import agent_children, agent_part, picture
from ._thread import NEW, Run, Stored

_NODES = {"model": AgentNode.MODEL, "call-tool": AgentNode.TOOL, "finish": AgentNode.FINISH}


class AgentThread:
    """Threads of one agent, in the words of the wire. A new thread begins with `history`."""

    is_agent = True

    def __init__(self, agent: Agent, history: tuple[Message, ...] = ()) -> None:
        self._agent = agent
        self._history = history
        self.unbegun = replace(NEW, messages=message_views(history)) if history else NEW

    @property
    def agent(self) -> Agent:
        return self._agent

    @property
    def history(self) -> tuple[Message, ...]:
        return self._history

    @property
    def title(self) -> str:
        return self._agent.id

    @property
    def runtime(self) -> GraphRuntime:
        return self._agent.runtime

    @property
    def checkpointer(self) -> Checkpointer:
        return self._agent.runtime.checkpointer

    @property
    def graph(self) -> CompiledGraph[Any, Any]:
        return self._agent.graph

    # -- runs --------------------------------------------------------------------------------------------------------

    async def start(self, query: Any, thread_id: str, config: RunConfig) -> Run:
        history = self._history
        if history and (await self.checkpointer.head(thread_id)).checkpoint_id is not None:
            history = ()  # the thread has it
        return await self._agent.start(query, thread_id=thread_id, config=config, history=history)

    async def resume(self, thread_id: str, answers: Answers, config: RunConfig) -> Run:
        return await self._agent.start_resume(thread_id, answers, config)

    async def recover(self, thread_id: str, config: RunConfig) -> Run:
        return await self._agent.start_recover(thread_id, config)

    async def abandon(self, thread_id: str) -> AgentResult:
        return await self._agent.abandon(thread_id)

    async def load(self, thread_id: str) -> Stored:
        try:
            result, unfit = await self._agent.opened(thread_id)
        except ThreadNotFound:
            return self.unbegun
        stored = self.stored(result)
        return stored if unfit is None else replace(stored, unfit=unfit)

    def stored(self, result: AgentResult) -> Stored:
        return stored_turn(result, self._reviews_guardrails, self._is_destructive)

    # -- the diagram -------------------------------------------------------------------------------------------------

    def picture(self) -> GraphPicture:
        before, after = self._agent.held
        return picture(self._agent.graph.topology(), agent_part, agent_children, fixed_before=before, fixed_after=after)

    def expand(self, node: str, phase: BreakpointPhase) -> frozenset[str]:
        owner, _, step = node.partition("/")
        shape = next((shape for shape in self._agent.graph.topology().nodes if shape.id == node), None)
        if shape is None:
            raise ConfigError(field="breakpoints", problems=[f"graph '{self._agent.graph.id}' does not have node '{node}'"])
        if step in _NODES:
            return self._agent.breakpoint_nodes(_NODES[step], phase, owner)
        folded = agent_part(node, shape.resume).step
        if folded is not None:
            raise ConfigError(field="breakpoints", problems=[f"node '{node}' continues step '{folded}' and is held through it"])
        return frozenset({node})

    # -- what only the agent knows -----------------------------------------------------------------------------------

    def _reviews_guardrails(self, agent: str, middleware: str) -> bool:
        return isinstance(self._agent.middleware(agent, middleware), GuardrailReviewMiddleware)

    def _is_destructive(self, agent: str, name: str) -> bool:
        """As careful as the hints' own defaults (3.1.2): also of a tool that the agent no longer has."""
        tool = self._agent.tool(agent, name)
        return tool is None or (tool.hints.destructive and not tool.hints.read_only)

    def check_edit(self, interrupt_id: str, stored: Stored, arguments: Mapping[str, Any]) -> list[ResumeProblem]:
        return [
            ResumeProblem(interrupt_id=interrupt_id, code="invalid", message=fault.reason, path=("arguments", *fault.path))
            for fault in self._agent.check_edit(stored.result, interrupt_id, arguments)
        ]

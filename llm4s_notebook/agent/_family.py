"""An agent and every agent it can hand over to, as the loop sees them (1.1.1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graph import DynamicJoin, NodeRef, ResumeRef, StateKey
from ..models import ChatClient, ToolSpec
from ._call_input import CallInput
from ._call_secrets import CALL_SECRETS
from ._decision import Decision
from ._handoff import HandoffRoute
from ._request import ApprovalRequest, MiddlewareHook, MiddlewareQuestionRequest, ToolQuestionRequest
from ._secrets import SecretPlaces
from ._stack import Stack
from ._tool import AgentTool
from ._toolset import written_keys


@dataclass(frozen=True, eq=False)
class Member:
    """One agent of a family: what its steps need, and nothing of how it was built."""

    id: str
    client: ChatClient
    system_prompt: str | None
    tools: Mapping[str, AgentTool]
    specs: Mapping[str, ToolSpec]
    """the tools' specs by name, made once."""
    contributed: Mapping[str, str]
    """tool name -> the middleware that brought it."""
    stack: Stack
    handoffs: Mapping[str, HandoffRoute]
    """stand-in tool name -> where it leads."""
    offered: tuple[ToolSpec, ...]
    max_steps: int
    stream: bool
    middleware_writes: frozenset[StateKey[Any, Any]] = frozenset()
    without_context_from: frozenset[str] = frozenset()
    """agents that hand over to this one without their context."""
    secret_places: Mapping[str, SecretPlaces] = field(default_factory=dict[str, SecretPlaces])
    """tool name -> where its arguments are secret; only tools with such places (3.8.1)."""

    def may_write(self, tool: AgentTool) -> frozenset[StateKey[Any, Any]]:
        """The keys a call of this tool may update: its own and every middleware's (3.4)."""
        return written_keys(tool.writes) | self.middleware_writes

    def all_writes(self) -> frozenset[StateKey[Any, Any]]:
        """The keys any call of this agent may update."""
        return self.middleware_writes.union(*(written_keys(tool.writes) for tool in self.tools.values()))


@dataclass(frozen=True, eq=False)
class MemberNodes:
    """The handles of one agent's nodes (1.1.3)."""

    model: NodeRef[None]
    call_tool: NodeRef[CallInput]
    approval: ResumeRef[ApprovalRequest, Decision]
    ask: Mapping[str, ResumeRef[ToolQuestionRequest, Any]]
    asked: Mapping[tuple[str, MiddlewareHook], ResumeRef[MiddlewareQuestionRequest, Any]]
    collect: NodeRef[None]
    finish: NodeRef[None]
    batch: DynamicJoin


@dataclass(eq=False)
class Family:
    """The members by id, the root first, and their nodes once the graph is being built."""

    root: str
    members: Mapping[str, Member]
    nodes: Mapping[str, MemberNodes] = field(default_factory=dict[str, MemberNodes])
    timer: Callable[[], float] = time.perf_counter

    @property
    def secret_keys(self) -> tuple[StateKey[Any, Any], ...]:
        """The key of open calls' secrets, where a tool of the family has any (3.8.2)."""
        return (CALL_SECRETS,) if any(member.secret_places for member in self.members.values()) else ()

    def guards(self, active: str) -> tuple[Member, ...]:
        """Whose boundary hooks see a turn: the root's, then the active agent's (6.1.6)."""
        root = self.members[self.root]
        return (root,) if active == self.root else (root, self.members[active])

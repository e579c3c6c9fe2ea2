"""Every node id of an agent's graph, and which nodes a breakpoint on a step holds (1.1.3, 5.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from ..graph import BreakpointPhase
from ._family import Family, Member
from ._request import MiddlewareHook

INPUT = "input"


class AgentNode(StrEnum):
    """A step of an agent that a breakpoint can hold."""

    MODEL = "model"
    TOOL = "tool"
    FINISH = "finish"


def model_node(agent: str) -> str:
    return f"{agent}/model"


def call_tool_node(agent: str) -> str:
    return f"{agent}/call-tool"


def approval_node(agent: str) -> str:
    return f"{agent}/approval"


def ask_node(agent: str, tool: str) -> str:
    return f"{agent}/ask/{tool}"


def asked_node(agent: str, middleware: str, hook: MiddlewareHook) -> str:
    return f"{agent}/asked/{middleware}/{hook.value}"


def collect_node(agent: str) -> str:
    return f"{agent}/collect"


def finish_node(agent: str) -> str:
    return f"{agent}/finish"


def batch_join(agent: str) -> str:
    """The dynamic join of one message's calls."""
    return f"{agent}/tool-batch"


Kind = Literal["input", "model", "call-tool", "approval", "ask", "asked", "collect", "finish"]


def kind_of(node: str) -> Kind | None:
    """What a node of an agent's graph does; agent, tool and middleware ids hold no slash. None for any other node."""
    if node == INPUT:
        return "input"
    match node.split("/"):
        case [_, "model" | "call-tool" | "approval" | "collect" | "finish" as kind]:
            return kind
        case [_, "ask", _]:
            return "ask"
        case [_, "asked", _, _]:
            return "asked"
        case _:
            return None


def breakpoint_nodes(family: Family, agent: str, node: AgentNode, phase: BreakpointPhase) -> frozenset[str]:
    """Table 5.2: before a step, its own node; after it, every node at which the step may end up being done."""
    member = family.members[agent]
    match node, phase:
        case AgentNode.MODEL, BreakpointPhase.BEFORE:
            return frozenset({model_node(agent)})
        case AgentNode.TOOL, BreakpointPhase.BEFORE:
            return frozenset({call_tool_node(agent)})
        case AgentNode.FINISH, BreakpointPhase.BEFORE:
            return frozenset({finish_node(agent)})
        case AgentNode.MODEL, BreakpointPhase.AFTER:
            return frozenset({model_node(agent), *_asked(member, MiddlewareHook.WRAP_MODEL_CALL)})
        case AgentNode.TOOL, BreakpointPhase.AFTER:
            asking = [ask_node(agent, tool.name) for tool in member.tools.values() if tool.question_type is not None]
            return frozenset({call_tool_node(agent), approval_node(agent), *asking, *_asked(member, MiddlewareHook.WRAP_TOOL_CALL)})
        case AgentNode.FINISH, BreakpointPhase.AFTER:
            root = family.members[family.root]
            return frozenset({finish_node(agent), *_asked(member, MiddlewareHook.AFTER_AGENT), *_asked(root, MiddlewareHook.AFTER_AGENT)})


def _asked(member: Member, hook: MiddlewareHook) -> list[str]:
    return [asked_node(member.id, middleware, hook) for middleware in member.stack.asking]

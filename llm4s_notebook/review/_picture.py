"""The diagram of a compiled graph, without marks (W3.1). Pure: equal topologies give equal pictures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..graph import GraphTopology
from ..wire import EdgeView, GraphPicture, Hold, NodeView

Role = Literal["input", "model", "tool", "collect", "finish", "continuation", "node", "resume"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a node is in the diagram: `step` is the node it is folded into, for one that continues a step."""

    label: str
    agent: str | None
    role: Role
    step: str | None


def graph_part(node_id: str, resume: bool) -> Part:
    """A node of a hand-built graph: drawn as it is."""
    return Part(node_id, None, "resume" if resume else "node", None)


_STEP_OF_HOOK = {"wrapModelCall": "model", "wrapToolCall": "call-tool", "afterAgent": "finish"}
_STEPS: dict[str, tuple[str, Role]] = {
    "model": ("model", "model"),
    "call-tool": ("tool calls", "tool"),
    "collect": ("collect", "collect"),
    "finish": ("finish", "finish"),
}


def agent_part(node_id: str, resume: bool) -> Part:
    """A node of an agent's graph, told by its id (1.1.3): the nodes that continue a step are folded into it."""
    if node_id == "input":
        return Part("input", None, "input", None)
    agent, _, rest = node_id.partition("/")
    if rest in _STEPS:
        label, role = _STEPS[rest]
        return Part(label, agent, role, None)
    match rest.split("/"):
        case ["approval"]:
            return Part("after an approval", agent, "continuation", f"{agent}/call-tool")
        case ["ask", tool]:
            return Part(f"after {tool}'s question", agent, "continuation", f"{agent}/call-tool")
        case ["asked", middleware, hook]:
            step = _STEP_OF_HOOK.get(hook)
            return Part(f"after {middleware}'s question", agent, "continuation", f"{agent}/{step}" if step else "input")
        case _:
            return Part(node_id, agent if rest else None, "resume" if resume else "node", None)


def agent_children(source: str, candidates: Sequence[str], topology: GraphTopology) -> Sequence[str]:
    """An agent's model fans out to its tool calls and to nothing else (1.1.4)."""
    return [target for target in candidates if target.endswith("/call-tool")]


def graph_children(source: str, candidates: Sequence[str], topology: GraphTopology) -> Sequence[str]:
    """A node declares its children among its other routes: of several candidates those count that lead nowhere else, for a child
    ends by arriving at the join.
    """
    leading_on = {start for start, _ in (*topology.edges, *topology.routes)}
    return [target for target in candidates if target not in leading_on] or candidates


Children = Callable[[str, Sequence[str], GraphTopology], Sequence[str]]


def picture(
    topology: GraphTopology,
    part: Callable[[str, bool], Part],
    children: Children,
    *,
    fixed_before: frozenset[str] = frozenset(),
    fixed_after: frozenset[str] = frozenset(),
) -> GraphPicture:
    """Every node idle and every hold off but the fixed ones. Nodes keep the order in which they were declared.

    `children` says which of its routes a node that fans out sends its children along.
    """
    parts = {node.id: part(node.id, node.resume) for node in topology.nodes}
    family = len({one.agent for one in parts.values() if one.agent is not None}) > 1
    nodes = [_node(one, _label(one, family), id, id in fixed_before, id in fixed_after) for id, one in parts.items()]
    edges = _edges(topology, children)
    shape = [topology.id, topology.entry, [(node.id, node.folded_into) for node in nodes], [(e.source, e.target, e.kind) for e in edges]]
    digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]
    return GraphPicture(graph_id=topology.id, topology=digest, entry=topology.entry, nodes=nodes, edges=edges)


def _label(part: Part, family: bool) -> str:
    """What a node is called. Every agent of a family has the same steps, so there each says whose it is; the step first, for a long
    label is cut. A node folded into a step stands beside it.
    """
    return f"{part.label} · {part.agent}" if family and part.agent is not None and part.step is None else part.label


def _node(part: Part, label: str, node_id: str, fixed_before: bool, fixed_after: bool) -> NodeView:
    before: Hold = "fixed" if fixed_before else "off"
    after: Hold = "fixed" if fixed_after else "off"
    return NodeView(
        id=node_id,
        label=label,
        agent=part.agent,
        role=part.role,
        folded_into=part.step,
        hold_before=before,
        hold_after=after,
        can_hold=part.role != "continuation",
        status="idle",
        held=0,
        waiting=0,
        interrupts=[],
    )


def _edges(topology: GraphTopology, children: Children) -> list[EdgeView]:
    """Static edges, declared routes, fan-outs and joins; of two with the same ends the first kind stands."""
    targets = {join.id: join.target for join in topology.joins if join.kind == "dynamic"}
    found: dict[tuple[str, str], EdgeView] = {}

    def add(pairs: Iterable[tuple[str, str]], kind: Literal["static", "route", "fan_out", "join"]) -> None:
        for source, target in pairs:
            found.setdefault((source, target), EdgeView(source=source, target=target, kind=kind, taken=False))

    add(topology.edges, "static")
    add(((source, join.target) for join in topology.joins for source in join.sources), "join")
    for source, join in topology.routes:
        if join in targets:
            candidates = [to for start, to in topology.routes if start == source and to not in targets and to != targets[join]]
            found_children = children(source, candidates, topology)
            add(((source, child) for child in found_children), "fan_out")
            add(((child, targets[join]) for child in found_children), "join")
    add(((source, target) for source, target in topology.routes if target not in targets), "route")
    return list(found.values())

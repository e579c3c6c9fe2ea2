"""What a diagram draws of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ._plan import Plan


@dataclass(frozen=True, slots=True)
class NodeShape:
    """A node: its id, whether it continues suspensions, the keys it may write, whether it only keeps books (D18)."""

    id: str
    resume: bool
    writes: tuple[str, ...]
    bookkeeping: bool


@dataclass(frozen=True, slots=True)
class JoinShape:
    """A join. A dynamic one has no declared sources: its children are made by fan-outs."""

    id: str
    kind: Literal["static", "dynamic"]
    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class GraphTopology:
    """Nodes in declaration order, static edges, where nodes may route to (node or join ids), joins, and the entry."""

    id: str
    entry: str
    nodes: tuple[NodeShape, ...]
    edges: tuple[tuple[str, str], ...]
    routes: tuple[tuple[str, str], ...]
    joins: tuple[JoinShape, ...]

    @classmethod
    def of(cls, plan: Plan) -> GraphTopology:
        nodes = tuple(NodeShape(node.id, node.resume, tuple(node.writes), node.bookkeeping) for node in plan.nodes.values())
        routes = tuple((node.id, target) for node in plan.nodes.values() for target in node.routes)
        static = [JoinShape(join.id, "static", join.sources, join.target) for join in plan.static_joins.values()]
        dynamic = [JoinShape(join.id, "dynamic", (), join.target) for join in plan.dynamic_joins.values()]
        return cls(plan.id, plan.entry, nodes, plan.edges, routes, (*static, *dynamic))

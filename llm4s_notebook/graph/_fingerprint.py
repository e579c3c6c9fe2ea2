"""A digest of a graph's shape: by it a stored thread is known to fit the graph, or not to (R1.36)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from ._codec import encode_json
from ._plan import DynamicJoinSpec, NodeSpec, StaticJoinSpec


def fingerprint_of(
    id: str,
    version: str,
    entry: str,
    nodes: Mapping[str, NodeSpec],
    edges: tuple[tuple[str, str], ...],
    static: Mapping[str, StaticJoinSpec],
    dynamic: Mapping[str, DynamicJoinSpec],
    keys: Iterable[str],
) -> str:
    """SHA-256 hex over the graph's shape (R1.36): neither input types, nor write sets, nor code."""
    shape = {
        "id": id,
        "version": version,
        "entry": entry,
        "nodes": sorted(nodes),
        "edges": edges,
        "static_joins": [[join.id, sorted(join.sources), join.target] for join in static.values()],
        "dynamic_joins": [[join.id, join.target] for join in dynamic.values()],
        "resume": sorted(node.id for node in nodes.values() if node.resume),
        "keys": sorted(keys),
    }
    return hashlib.sha256(encode_json(shape)).hexdigest()

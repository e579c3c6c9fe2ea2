"""A graph as data: what the pure parts of the runtime ask (which node writes what, which join waits for whom)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ._codec import Codec, encode_json
from ._context import RunContext
from ._key import StateKey
from ._refs import Owner
from ._state import ThreadState

Behaviour = Callable[[Any, ThreadState, RunContext], Any]


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node. `call` gives a node result, or an awaitable of one; `threaded` says that it is a plain function (D24)."""

    id: str
    codec: Codec[Any]
    call: Behaviour
    threaded: bool
    writes: Mapping[str, StateKey[Any, Any]]
    routes: tuple[str, ...]
    bookkeeping: bool
    edges: tuple[str, ...]
    sources_of: tuple[str, ...]
    """Static joins this node is a source of, in declaration order."""
    text: bytes = b""
    """The id as JSON text."""
    question: Codec[Any] | None = None
    answer: Codec[Any] | None = None
    takes_state: bool = True
    takes_context: bool = True
    """Whether `call` looks at what it is given there."""

    @property
    def resume(self) -> bool:
        return self.question is not None


@dataclass(frozen=True, slots=True)
class StaticJoinSpec:
    id: str
    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class DynamicJoinSpec:
    id: str
    target: str


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One compiled graph's data; its identity is the graph's (R1.32)."""

    owner: Owner
    id: str
    version: str
    fingerprint: str
    entry: str
    nodes: Mapping[str, NodeSpec]
    keys: Mapping[str, StateKey[Any, Any]]
    edges: tuple[tuple[str, str], ...]
    static_joins: Mapping[str, StaticJoinSpec]
    dynamic_joins: Mapping[str, DynamicJoinSpec]
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digest of each named part of the graph's version, so that a refused restore says which one changed (D14)."""
    parts_text: bytes = field(init=False)
    """The parts as JSON text: every thread begins with them."""
    key_versions: bytes = field(init=False)
    """Schema versions of the keys as JSON text, those above 1 only."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts_text", encode_json(dict(self.parts)))
        versions = {id: key.version for id, key in self.keys.items() if key.version != 1}
        object.__setattr__(self, "key_versions", encode_json(versions))

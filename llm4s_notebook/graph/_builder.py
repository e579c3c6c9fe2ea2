"""Building a graph: handles are issued, nothing raises, and `compile` reports every fault at once (R2.1, R2.2)."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ..errors import InvalidGraph
from ._call import Signature, read_signature
from ._codec import Codec, Migrations, encode_json
from ._compiled import CompiledGraph
from ._fingerprint import fingerprint_of
from ._given import schema_problems, several, text_problem, usable_id
from ._key import StateKey
from ._plan import DynamicJoinSpec, NodeSpec, Plan, StaticJoinSpec
from ._refs import DynamicJoin, NodeRef, Owner, ResumeRef, StaticJoin
from ._state import ThreadState

Q = TypeVar("Q")
Ans = TypeVar("Ans")
Out = TypeVar("Out")
AnyKey = StateKey[Any, Any]
AnyRef = NodeRef[Any]
Routes = Iterable[NodeRef[Any] | DynamicJoin] | NodeRef[Any] | DynamicJoin
_UNSET: Any = object()
_NO_STEPS: Migrations = {}


@dataclass(slots=True)
class _Implemented:
    signature: Signature
    writes: tuple[AnyKey, ...]
    routes: tuple[str, ...]
    bookkeeping: bool


class GraphBuilder:
    """Collects nodes, edges and joins. Its calls never raise; `compile` does, with every problem (R2.1)."""

    def __init__(self, id: str, *, version: str, parts: Mapping[str, str] | None = None) -> None:
        """Begin a graph. `version` names its behaviour (R1.36); `parts` may give a digest of each thing the version is made of (D14)."""
        self.id = id
        self.version = version
        self._owner = Owner(id)
        self._refs: dict[str, AnyRef] = {}
        self._implemented: dict[str, _Implemented] = {}
        self._edges: list[tuple[AnyRef, AnyRef]] = []
        self._static: dict[str, tuple[tuple[AnyRef, ...], AnyRef]] = {}
        self._dynamic: dict[str, AnyRef] = {}
        self._joins: list[str] = []
        self._keys: list[AnyKey] = []
        self._problems: list[str] = []
        self._parts = self._read_parts({} if parts is None else parts)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def node(
        self,
        id: str,
        *,
        writes: Iterable[AnyKey] | AnyKey = (),
        routes: Routes = (),
        bookkeeping: bool = False,
        input: Any = _UNSET,
        version: int = 1,
        migrations: Migrations = _NO_STEPS,
    ) -> Callable[[Callable[..., Any]], NodeRef[Any]]:
        """Declare and implement a node in one go; decorates the node's function.

        `input` overrides the type annotated; `routes` tells a diagram where the node may go; a `bookkeeping` node has no
        effects and calls nobody (D18); `version` and `migrations` are those of the input's schema.
        """
        names = _caller_names()
        id = usable_id(id, "a node's id", self._problems)

        def decorate(function: Callable[..., Any]) -> NodeRef[Any]:
            signature = read_signature(function, names)
            declared = signature.input if input is _UNSET else input
            ref = self._declare(NodeRef(id, self._owner, self._codec(id, declared, version, migrations)))
            self._implement(ref, signature, writes, routes, bookkeeping)
            return ref

        return decorate

    def declare(self, id: str, *, input: Any = types.NoneType, version: int = 1, migrations: Migrations = _NO_STEPS) -> NodeRef[Any]:
        """A handle to route to before the node is implemented, as cycles need (R2.4)."""
        id = usable_id(id, "a node's id", self._problems)
        return self._declare(NodeRef(id, self._owner, self._codec(id, input, version, migrations)))

    def declare_resume(
        self, id: str, *, question: type[Q], answer: type[Ans], version: int = 1, migrations: Migrations = _NO_STEPS
    ) -> ResumeRef[Q, Ans]:
        """A handle to suspend to; its node receives `Resumed(question, answer)` (R1.25). `version` is the question's schema."""
        id = usable_id(id, "a node's id", self._problems)
        if not self._fits(id, version, migrations):
            version, migrations = 1, _NO_STEPS
        try:
            ref: ResumeRef[Q, Ans] = ResumeRef(id, self._owner, question, answer, version=version, migrations=migrations)
        except Exception as error:
            self._problems.append(f"node '{id}': pydantic cannot handle its question or answer type: {_short(error)}")
            ref = ResumeRef(id, self._owner, Any, Any)
        self._declare(ref)
        return ref

    def implement(
        self, ref: NodeRef[Any], *, writes: Iterable[AnyKey] | AnyKey = (), routes: Routes = (), bookkeeping: bool = False
    ) -> Callable[[Callable[..., Any]], NodeRef[Any]]:
        """Give a declared node its function."""
        names = _caller_names()

        def decorate(function: Callable[..., Any]) -> NodeRef[Any]:
            self._implement(ref, read_signature(function, names), writes, routes, bookkeeping)
            return ref

        return decorate

    # -- edges, joins, keys ------------------------------------------------------------------------------------------

    def edge(self, source: NodeRef[Any], target: NodeRef[Any]) -> None:
        """Whenever `source` completes, `target` runs, besides what `source` routes to (R1.26)."""
        self._edges.append((source, target))

    def static_join(self, id: str, sources: Iterable[NodeRef[Any]] | NodeRef[Any], target: NodeRef[Any]) -> StaticJoin:
        """`target` runs each time all `sources` have completed (R3.10)."""
        id = self._join(id)
        self._static.setdefault(id, (several(sources, (NodeRef, str), f"the sources of join '{id}'", self._problems), target))
        return StaticJoin(id, self._owner)

    def dynamic_join(self, id: str, target: NodeRef[Any]) -> DynamicJoin:
        """`target` runs once per fan-out, when the last child is done (R3.11)."""
        id = self._join(id)
        self._dynamic.setdefault(id, target)
        return DynamicJoin(id, self._owner)

    def reads(self, *keys: AnyKey) -> None:
        """Register keys that no node writes (R2.3)."""
        self._keys.extend(keys)

    # -- compiling ---------------------------------------------------------------------------------------------------

    def compile(self, entry: NodeRef[Any], *, output: Callable[[ThreadState], Out]) -> CompiledGraph[Any, Out]:
        """The graph; `output` projects the final state and runs when a run completes (R2.5).

        Raises: InvalidGraph with every problem of R2.2.
        """
        problems = list(self._problems)
        for what, text in (("the graph id", self.id), ("the graph version", self.version)):
            problem = text_problem(what, text)
            problems += [problem] if problem is not None else []
        if not self.id:
            problems.append("the graph id is empty")
        if not callable(output):
            problems.append(f"the output is {output!r}, which cannot be called")
        if "" in self._refs:
            problems.append("a node id is empty")
        if "" in self._joins:
            problems.append("a join id is empty")
        for id in self._refs:
            if id not in self._implemented:
                problems.append(f"node '{id}' is declared and never implemented")
        self._check_handles(entry, problems)
        keys = self._collect_keys(problems)
        if problems:
            raise InvalidGraph(graph_id=self.id, problems=problems)
        return CompiledGraph(self._plan(entry, keys), output)

    def _check_handles(self, entry: AnyRef, problems: list[str]) -> None:
        def check(ref: AnyRef, where: str, *, unit: bool = True) -> None:
            if not isinstance(ref, NodeRef):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
                problems.append(f"{where} is {ref!r}, which is no node's handle")
            elif ref.owner is not self._owner:
                problems.append(f"{where} is node '{ref.id}' of another builder")
            elif ref.id not in self._refs:
                problems.append(f"{where} is node '{ref.id}', which was never declared")
            elif unit and not ref.codec.unit:
                problems.append(f"{where} is node '{ref.id}', which takes a payload of type {ref.codec.named}")

        for source, target in self._edges:
            edge = f"edge {_id_of(source)} -> {_id_of(target)}"
            check(source, f"the source of {edge}", unit=False)
            check(target, f"the target of {edge}")
        for id, (sources, target) in self._static.items():
            if not sources:
                problems.append(f"join '{id}' has no sources")
            for source in sources:
                check(source, f"a source of join '{id}'", unit=False)
            check(target, f"the target of join '{id}'")
        for id, target in self._dynamic.items():
            check(target, f"the target of join '{id}'")
        check(entry, "the entry", unit=False)

    def _collect_keys(self, problems: list[str]) -> dict[str, AnyKey]:
        """All keys by id; of equal ones the last given supplies the reduce function (D1)."""
        by_id: dict[str, list[AnyKey]] = {}
        given = [key for node in self._implemented.values() for key in node.writes]
        for key in [*given, *self._keys]:
            if not isinstance(key, StateKey):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
                problems.append(f"{key!r} is no state key")
                continue
            unequal = by_id.setdefault(key.id, [])
            same = next((index for index, one in enumerate(unequal) if one == key), None)
            if same is None:
                unequal.append(key)
            else:
                unequal[same] = key
        if "" in by_id:
            problems.append("a state key id is empty")
        for id, keys in by_id.items():
            if len(keys) > 1:
                problems.append(f"state key id '{id}' is shared by {len(keys)} unequal keys")
        return {id: keys[-1] for id, keys in by_id.items()}

    def _plan(self, entry: AnyRef, keys: dict[str, AnyKey]) -> Plan:
        static = {
            id: StaticJoinSpec(id, tuple(dict.fromkeys(source.id for source in sources)), target.id)
            for id, (sources, target) in self._static.items()
        }
        edges = tuple((source.id, target.id) for source, target in self._edges)
        nodes: dict[str, NodeSpec] = {}
        for id, ref in self._refs.items():
            own = self._implemented[id]
            resume = isinstance(ref, ResumeRef)
            nodes[id] = NodeSpec(
                id=id,
                codec=ref.codec,
                call=own.signature.call,
                threaded=own.signature.threaded,
                takes_state=own.signature.state,
                takes_context=own.signature.context,
                writes={key.id: keys[key.id] for key in own.writes},
                routes=own.routes,
                bookkeeping=own.bookkeeping,
                edges=tuple(target for source, target in edges if source == id),
                sources_of=tuple(join.id for join in static.values() if id in join.sources),
                text=encode_json(id),
                question=cast(ResumeRef[Any, Any], ref).question if resume else None,
                answer=cast(ResumeRef[Any, Any], ref).answer if resume else None,
            )
        dynamic = {id: DynamicJoinSpec(id, target.id) for id, target in self._dynamic.items()}
        fingerprint = fingerprint_of(self.id, self.version, entry.id, nodes, edges, static, dynamic, keys)
        return Plan(self._owner, self.id, self.version, fingerprint, entry.id, nodes, keys, edges, static, dynamic, dict(self._parts))

    # -- inner -------------------------------------------------------------------------------------------------------

    def _declare(self, ref: AnyRef) -> AnyRef:
        if ref.id in self._refs:
            self._problems.append(f"node '{ref.id}' is declared twice")
        else:
            self._refs[ref.id] = ref
        return ref

    def _implement(self, ref: AnyRef, signature: Signature, writes: Iterable[AnyKey] | AnyKey, routes: Routes, bookkeeping: bool) -> None:
        if not isinstance(ref, NodeRef):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            self._problems.append(f"{ref!r} is implemented here, which is no node's handle")
            return
        if ref.owner is not self._owner:
            self._problems.append(f"node '{ref.id}' of another builder is implemented here")
            return
        if ref.id in self._implemented:
            self._problems.append(f"node '{ref.id}' is implemented twice")
            return
        self._problems.extend(f"node '{ref.id}': {problem}" for problem in signature.problems)
        targets = several(routes, (NodeRef, DynamicJoin, str), f"node '{ref.id}': its routes", self._problems)
        for one in targets:
            if not isinstance(one, (NodeRef, DynamicJoin)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
                self._problems.append(f"node '{ref.id}': route {one!r} is no handle")
        keys = several(writes, (StateKey, str), f"node '{ref.id}': what it writes", self._problems)
        self._implemented[ref.id] = _Implemented(signature, keys, tuple(map(_id_of, targets)), bookkeeping)

    def _codec(self, id: str, declared: Any, version: int, migrations: Migrations) -> Codec[Any]:
        if not self._fits(id, version, migrations):
            return Codec(Any)
        try:
            return Codec(declared, version=version, migrations=migrations)
        except Exception as error:
            self._problems.append(f"node '{id}': pydantic cannot handle its input type: {_short(error)}")
            return Codec(Any)

    def _read_parts(self, parts: object) -> dict[str, str]:
        if not isinstance(parts, Mapping):
            self._problems.append(f"the graph's parts are {parts!r}, and must be a mapping from a name to a digest")
            return {}
        name, digest = "the name of a part", "the digest of a part"
        given = cast(Mapping[object, object], parts).items()
        return {usable_id(one, name, self._problems): usable_id(value, digest, self._problems) for one, value in given}

    def _fits(self, id: str, version: int, migrations: Migrations) -> bool:
        found = schema_problems(version, migrations)
        self._problems.extend(f"node '{id}': {problem}" for problem in found)
        return not found

    def _join(self, id: str) -> str:
        id = usable_id(id, "a join's id", self._problems)
        if id in self._joins:
            self._problems.append(f"join id '{id}' is declared twice")
        self._joins.append(id)
        return id


def _caller_names() -> Mapping[str, Any]:
    """Local names where a node is decorated: annotations may use classes defined there."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]  # the only way to see a caller's locals
    return {} if frame.f_locals is frame.f_globals else dict(frame.f_locals)


def _id_of(ref: object) -> str:
    """A handle's id, or whatever was given in its place."""
    return ref.id if isinstance(ref, (NodeRef, DynamicJoin)) else repr(ref)


def _short(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]

"""Handles: what a builder issues and a command routes by (R1.21). Routing is by handle, never by string."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from ._codec import Codec, Migrations
from ._resumed import Resumed

I_contra = TypeVar("I_contra", contravariant=True)
Q = TypeVar("Q")
Ans = TypeVar("Ans")


class Owner:
    """The identity of one builder; its handles carry it."""

    __slots__ = ("graph_id",)

    def __init__(self, graph_id: str) -> None:
        self.graph_id = graph_id


class NodeRef(Generic[I_contra]):
    """A node of one graph, taking inputs of one type; `None` for nodes without payload (R1.20)."""

    __slots__ = ("codec", "id", "owner")

    def __init__(self, id: str, owner: Owner, codec: Codec[Any]) -> None:
        self.id = id
        self.owner = owner
        self.codec = codec

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.id!r})"


class ResumeRef(NodeRef["Resumed[Q, Ans]"], Generic[Q, Ans]):
    """A node that continues a suspension: its input is `Resumed(question, answer)` (R1.25)."""

    __slots__ = ("answer", "question")

    def __init__(
        self, id: str, owner: Owner, question: Any, answer: Any, *, version: int = 1, migrations: Migrations | None = None
    ) -> None:
        self.question: Codec[Q] = Codec(question, version=version, migrations=migrations)
        self.answer: Codec[Ans] = Codec(answer)
        super().__init__(id, owner, Codec(Resumed[question, answer], version=version, migrations=_inside_question(migrations)))

    def encode_answer(self, answer: Ans) -> Any:
        """A typed answer as the JSON value that `resume` takes. Raises: EncodeError."""
        return TypeAdapter(Any).validate_json(self.answer.encode(answer))


class StaticJoin:
    """Fires its target when each of its sources has completed since it last fired (R1.27)."""

    __slots__ = ("id", "owner")

    def __init__(self, id: str, owner: Owner) -> None:
        self.id = id
        self.owner = owner

    def __repr__(self) -> str:
        return f"StaticJoin({self.id!r})"


class DynamicJoin:
    """Fires its target once per fan-out, when the last child is done (R1.27)."""

    __slots__ = ("id", "owner")

    def __init__(self, id: str, owner: Owner) -> None:
        self.id = id
        self.owner = owner

    def __repr__(self) -> str:
        return f"DynamicJoin({self.id!r})"


def _inside_question(migrations: Migrations | None) -> Migrations:
    """The steps of a question's schema, applied to the question inside a resume node's input."""

    def inside(step: int) -> Any:
        migrate = (migrations or {})[step]
        return lambda value: {**value, "question": migrate(value["question"])}  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]  # plain JSON

    return {step: inside(step) for step in migrations or {}}

"""What a task hands back to go on: an ordered state update and an ordered list of routes (R1.18, R1.22, R1.23)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias, TypeVar, final

from ._key import StateKey
from ._refs import DynamicJoin, NodeRef

A = TypeVar("A")
U = TypeVar("U")
P = TypeVar("P")


@final
class Update(NamedTuple):
    """Give `value` to the key's reduce function."""

    key: StateKey[Any, Any]
    value: Any


@final
class Remove(NamedTuple):
    """Drop the stored entry: the next read sees the initial value (R1.18)."""

    key: StateKey[Any, Any]


@final
class Goto(NamedTuple):
    """One task of a node that takes no payload."""

    target: NodeRef[None]


@final
class Send(NamedTuple):
    """One task with a payload, counted by no join."""

    target: NodeRef[Any]
    payload: Any


@final
class FanOut(NamedTuple):
    """One task per payload, in order, all counted by one activation of the join."""

    join: DynamicJoin
    target: NodeRef[Any]
    payloads: tuple[Any, ...]


Operation: TypeAlias = Update | Remove
Route: TypeAlias = Goto | Send | FanOut


@final
class Command(NamedTuple):
    """Immutable; each method returns a new command with one more update or route at the end."""

    updates: tuple[Operation, ...] = ()
    routes: tuple[Route, ...] = ()

    def update(self, key: StateKey[A, U], value: U) -> Command:
        """Also give `value` to the key's reduce function."""
        return Command((*self.updates, Update(key, value)), self.routes)

    def remove(self, key: StateKey[Any, Any]) -> Command:
        """Also drop the key's stored entry; a later update starts from the initial value."""
        return Command((*self.updates, Remove(key)), self.routes)

    def goto(self, target: NodeRef[None]) -> Command:
        """Also run a node that takes no payload."""
        return Command(self.updates, (*self.routes, Goto(target)))

    def send(self, target: NodeRef[P], payload: P) -> Command:
        """Also run a node with a payload."""
        return Command(self.updates, (*self.routes, Send(target, payload)))

    def fan_out(self, join: DynamicJoin, target: NodeRef[P], payloads: Iterable[P]) -> Command:
        """Also run a node once per payload; `join` fires when all of them are done."""
        return Command(self.updates, (*self.routes, FanOut(join, target, tuple(payloads))))

    def combine(self, other: Command) -> Command:
        """This command's operations and routes, followed by the other's (R1.18)."""
        return Command(self.updates + other.updates, self.routes + other.routes)

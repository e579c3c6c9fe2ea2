"""A family with one agent changed: every agent is made anew, so that all hand over to the new ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._handoff import Handoff

if TYPE_CHECKING:
    from ._agent import Agent


def agents_of(root: Agent) -> dict[str, Agent]:
    """The agents of a valid family by id, the root first."""
    found = {root.id: root}
    waiting = [root]
    while waiting:
        for handoff in waiting.pop(0).settings.handoffs:
            target = _target(handoff)
            if target.id not in found:
                found[target.id] = target
                waiting.append(target)
    return found


def rebuilt(root: Agent, family: Mapping[str, Agent], changed: str, changes: Mapping[str, Any]) -> Agent:
    """The root of the same family with `changes` in one agent's settings. Raises: ConfigError."""
    made: dict[str, Agent] = {}

    def to(id: str) -> Callable[[], Agent]:
        return lambda: made[id]

    for id, one in family.items():
        kept = [Handoff(to(_target(handoff).id), handoff.preserve_context, handoff.reason) for handoff in one.settings.handoffs]
        settings: dict[str, Any] = {"handoffs": kept, **(changes if id == changed else {})}
        made[id] = one.with_(**settings)
    return made[root.id]


def _target(handoff: Handoff) -> Agent:
    return handoff.to() if callable(handoff.to) else handoff.to

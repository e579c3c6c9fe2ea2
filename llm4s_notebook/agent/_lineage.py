"""Which agents an agent can hand over to, directly and through others: its family before it is compiled (1.1.1, section 7)."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import BreakpointPhase
from ._build import Problems, Settings, Target, member_of, parts_of
from ._family import Family, Member
from ._handoff import Handoff, handoff_name
from ._node_ids import breakpoint_nodes


@dataclass(frozen=True, eq=False)
class Lineage:
    """The settings of every agent of a family by id, the root first, and where each hands over to."""

    settings: dict[str, Settings]
    targets: dict[str, list[Target]]

    def members(self) -> dict[str, Member]:
        """The agents as the loop sees them."""
        return {id: member_of(one, self.targets[id], self._without_context(id)) for id, one in self.settings.items()}

    def parts(self) -> dict[str, str]:
        """The digest of each thing the family's behaviour is made of (D14)."""
        root = next(iter(self.settings))
        return {
            name: digest for id, one in self.settings.items() for name, digest in parts_of(one, self.targets[id], root=id == root).items()
        }

    def held_nodes(self, family: Family) -> tuple[frozenset[str], frozenset[str]]:
        """The node ids that the agents' own breakpoints hold, before and after (5.1.1)."""
        before: set[str] = set()
        after: set[str] = set()
        for id, one in self.settings.items():
            for step in one.interrupt_before:
                before |= breakpoint_nodes(family, id, step, BreakpointPhase.BEFORE)
            for step in one.interrupt_after:
                after |= breakpoint_nodes(family, id, step, BreakpointPhase.AFTER)
        return frozenset(before), frozenset(after)

    def _without_context(self, id: str) -> frozenset[str]:
        return frozenset(source for source, to in self.targets.items() for target in to if target.id == id and not target.preserve_context)


def is_open(root: Settings) -> bool:
    """True while some agent of the family is named by a callable, whose target may not exist yet."""
    waiting, seen = [root], {id(root)}
    while waiting:
        for handoff in waiting.pop().handoffs:
            if callable(handoff.to):
                return True
            if id(handoff.to.settings) not in seen:
                seen.add(id(handoff.to.settings))
                waiting.append(handoff.to.settings)
    return False


def trace(root: Settings) -> Lineage:
    """Follow every handoff.

    Raises: ConfigError naming two agents of one id, a target that is no agent, two handoffs to one target, a tool with a handoff's name.
    """
    lineage = Lineage({root.id: root}, {})
    problems = Problems()
    waiting = [root]
    while waiting:
        source = waiting.pop(0)
        own = lineage.targets.setdefault(source.id, [])
        for handoff in source.handoffs:
            target = _settings_of(source, handoff, problems)
            if target is None:
                continue
            if any(one.id == target.id for one in own):
                problems.add("handoffs", [f"agent '{source.id}' hands over to '{target.id}' twice"])
                continue
            own.append(Target(target.id, handoff.reason or target.description, handoff.preserve_context))
            if any(tool.name == handoff_name(target.id) for tool in source.tools):
                problems.add("handoffs", [f"agent '{source.id}': tool '{handoff_name(target.id)}' has the name of a handoff"])
            known = lineage.settings.setdefault(target.id, target)
            if known is not target:
                problems.add("handoffs", [f"two different agents of the family have the id '{target.id}'"])
            elif target.id not in lineage.targets and target not in waiting:
                waiting.append(target)
    problems.check()
    return lineage


def _settings_of(source: Settings, handoff: Handoff, problems: Problems) -> Settings | None:
    target: object = handoff.to() if callable(handoff.to) else handoff.to
    settings = getattr(target, "settings", None)
    if isinstance(settings, Settings):
        return settings
    problems.add("handoffs", [f"agent '{source.id}': a handoff leads to {target!r}, which is no Agent"])
    return None

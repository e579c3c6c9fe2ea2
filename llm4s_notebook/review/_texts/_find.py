"""How one text stands, and which texts a filter finds (T2.4). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...wire import AnyVerdict, TextMark, TextOutcome, TextShow
from ._check import Checked


@dataclass(frozen=True, slots=True)
class Standing:
    """What the guardrails made of a text now and the previous ones before, and the person's mark."""

    now: Checked | None
    before: Checked | None
    mark: TextMark

    @property
    def outcome(self) -> TextOutcome:
        return "unchecked" if self.now is None else self.now.outcome

    @property
    def lists(self) -> list[TextShow]:
        """The lists that show it."""
        found: list[TextShow] = ["all"]
        now = self.now
        if now is None:
            return found
        if now.faults:
            found.append("errors")
        if now.fixed_by:
            found.append("fixed")
        outcome = now.outcome
        before = None if self.before is None else self.before.outcome
        if outcome == "refused":
            found.append("refused")
            if before == "passed":
                found.append("newly_refused")
        elif outcome == "passed":
            if before == "refused":
                found.append("newly_passing")
            if self.mark == "allow":
                found.append("mended")
            elif self.mark == "block":
                found.append("missed")
        return found

    def names(self) -> set[str]:
        """The guardrails it is listed under: those that did something now, and before where it passes now."""
        known = [] if self.now is None else [self.now]
        if self.outcome == "passed" and self.before is not None:
            known.append(self.before)
        return {name for checked in known for name in checked.names()}


@dataclass(frozen=True, slots=True)
class TextFilter:
    """What to list. `search` is looked for in the text, its id and the reasons, in any case."""

    show: TextShow = "refused"
    verdict: AnyVerdict = "any"
    guardrail: str | None = None
    search: str = ""

    def finds(self, text: str, label: str, standing: Standing) -> bool:
        if self.verdict not in ("any", standing.mark) or self.show not in standing.lists:
            return False
        if self.guardrail is not None and self.guardrail not in standing.names():
            return False
        wanted = self.search.casefold()
        return not wanted or any(wanted in place.casefold() for place in _places(text, label, standing))


def _places(text: str, label: str, standing: Standing) -> Iterator[str]:
    yield text
    yield label
    if standing.now is not None:
        yield standing.now.reason

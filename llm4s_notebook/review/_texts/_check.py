"""What a list of guardrails makes of one text, told guardrail by guardrail (T1.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import Refused, printable, text_of
from ...guardrails import Failure, Guardrail, check
from ...wire import TextOutcome


@dataclass(frozen=True, slots=True)
class Checked:
    """One text after all guardrails: who refused it, who failed on it, who changed it, and what they made of it."""

    text: str
    failures: tuple[Failure, ...] = ()
    faults: tuple[Failure, ...] = ()  # `reason` is what the guardrail raised
    fixed_by: tuple[str, ...] = ()

    @property
    def outcome(self) -> TextOutcome:
        """A text that nobody refused has passed only if every guardrail could judge it."""
        return "refused" if self.failures else "error" if self.faults else "passed"

    @property
    def reason(self) -> str:
        """Every reason, joined as a reviewing middleware joins them (6.1.3)."""
        return "; ".join(one.reason for one in (self.failures or self.faults))

    @property
    def guardrail(self) -> str | None:
        """The first that refused it, else the first that failed on it."""
        first = (self.failures or self.faults)[:1]
        return first[0].guardrail if first else None

    def names(self) -> tuple[str, ...]:
        """Every guardrail that did anything with it."""
        return (*(one.guardrail for one in (*self.failures, *self.faults)), *self.fixed_by)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A guardrail under the name it is shown by."""

    label: str
    guardrail: Guardrail


def labelled(guardrails: Sequence[Guardrail]) -> tuple[Labelled, ...]:
    """Each under its own name; of several of one name the later ones are numbered, so that a table can tell them apart."""
    taken: Counter[str] = Counter()
    shown: list[Labelled] = []
    for guardrail in guardrails:
        name = printable(guardrail.name)
        taken[name] += 1
        shown.append(Labelled(name if taken[name] == 1 else f"{name} ({taken[name]})", guardrail))
    return tuple(shown)


async def check_text(guardrails: Sequence[Labelled], text: str) -> Checked:
    """Run all of them, each on what the ones before made of the text, as around a turn (6.1.2).

    An exception other than a refusal is a fault of that guardrail on that text: the others run all the same.
    """
    failures: list[Failure] = []
    faults: list[Failure] = []
    fixed_by: list[str] = []
    for one in guardrails:
        try:
            made = await check(one.guardrail, text)
        except Refused as refused:
            failures.append(Failure(one.label, refused.reason))
        except Exception as error:
            faults.append(Failure(one.label, f"{type(error).__name__}: {text_of(error)}"))
        else:
            if made != text:
                fixed_by.append(one.label)
            text = made
    return Checked(text, tuple(failures), tuple(faults), tuple(fixed_by))

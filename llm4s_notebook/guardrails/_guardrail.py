"""What a guardrail is, and how a list of them judges one text (6.1)."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ConfigError, GuardrailBlocked, Refused, half_character, printable
from ._worker import in_worker


class Guardrail(Protocol):
    """A named check on a text.

    `check` returns the text, changed or not, or raises `Refused(reason)`; any other exception is a fault of the guardrail
    and no verdict (6.1.7). It may be a plain function, which then runs in a worker thread.
    """

    @property
    def name(self) -> str:
        """What a blocked turn and a reviewer are told refused the text."""
        ...

    def check(self, text: str) -> str | Awaitable[str]:
        """Return the text, changed or not. Raises: Refused."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """One guardrail's refusal."""

    guardrail: str
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a list of guardrails made of a text: the text as they changed it, and every refusal in order."""

    text: str
    failures: tuple[Failure, ...] = ()

    @property
    def reason(self) -> str:
        """Every refusal's reason, joined with "; " (6.1.3)."""
        return "; ".join(failure.reason for failure in self.failures)


def as_guardrails(given: Iterable[Guardrail] | Guardrail) -> tuple[Guardrail, ...]:
    """A single guardrail stands for the list of it. Raises: ConfigError naming what is none."""
    many: Iterable[Any] = given if isinstance(given, Iterable) else [given]
    listed = tuple(many)
    strangers = [one for one in listed if not callable(getattr(one, "check", None)) or not isinstance(getattr(one, "name", None), str)]
    if strangers:
        raise ConfigError(field="guardrails", problems=[f"{one!r} is no guardrail: it needs a name and a check" for one in strangers])
    return listed


async def check(guardrail: Guardrail, text: str) -> str:
    """Run one guardrail, in a worker thread where its check is a plain function. Raises: Refused, or what the check raises."""
    try:
        if inspect.iscoroutinefunction(guardrail.check):
            made: object = guardrail.check(text)
        else:
            made = await in_worker(guardrail.check, text)
        if inspect.isawaitable(made):
            made = await made
    except GuardrailBlocked as blocked:
        # as good as a refusal; left as it is, it would pass by the guardrails after it, and by the reviewer
        raise Refused(blocked.reason) from blocked
    if not isinstance(made, str):
        raise TypeError(f"guardrail '{guardrail.name}' returned {type(made).__name__}, not a text")
    if made != text and half_character(made) is not None:
        raise ValueError(f"guardrail '{guardrail.name}' returned a text with half a character, which cannot be stored")
    return made


async def judge(guardrails: Iterable[Guardrail], text: str) -> Judgement:
    """Run all of them, each on what the ones before made of the text; a failing one leaves it as it was (6.1.2)."""
    failures: list[Failure] = []
    for guardrail in guardrails:
        try:
            text = await check(guardrail, text)
        except Refused as refused:
            failures.append(Failure(printable(guardrail.name), refused.reason))
    return Judgement(text, tuple(failures))

"""Guardrails made of guardrails: all of them, any of them, one after the other."""

from __future__ import annotations

from ..errors import ConfigError, Refused
from ._guardrail import Guardrail, as_guardrails, check, judge


class _Composite:
    def __init__(self, name: str, guardrails: tuple[Guardrail, ...]) -> None:
        if not guardrails:
            raise ConfigError(field=name, problems=["a composite guardrail needs at least one part"])
        self.name = name
        self.guardrails = as_guardrails(guardrails)

    def __repr__(self) -> str:
        return f"{type(self).__name__.strip('_')}({self.name!r}, {len(self.guardrails)} guardrails)"


class _All(_Composite):
    async def check(self, text: str) -> str:
        judgement = await judge(self.guardrails, text)
        if judgement.failures:
            raise Refused(judgement.reason)
        return judgement.text


class _Any(_Composite):
    async def check(self, text: str) -> str:
        reasons: list[str] = []
        for guardrail in self.guardrails:
            try:
                return await check(guardrail, text)
            except Refused as refused:
                reasons.append(refused.reason)
        raise Refused("; ".join(reasons))


class _Sequence(_Composite):
    async def check(self, text: str) -> str:
        for guardrail in self.guardrails:
            text = await check(guardrail, text)
        return text


def all_of(name: str, *guardrails: Guardrail) -> Guardrail:
    """Pass when every part passes; all run, each on the text of the one before, and every refusal is told."""
    return _All(name, guardrails)


def any_of(name: str, *guardrails: Guardrail) -> Guardrail:
    """Pass with the text of the first part that passes; the parts after it are not asked."""
    return _Any(name, guardrails)


def sequence(name: str, *guardrails: Guardrail) -> Guardrail:
    """Pass when every part passes, each on the text of the one before; stop at the first refusal."""
    return _Sequence(name, guardrails)

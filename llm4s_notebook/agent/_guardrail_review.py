"""Guardrails around a turn whose refusals a person reviews (6.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator

from ..errors import GuardrailBlocked
from ..graph import RunContext
from ..guardrails import Guardrail, as_guardrails, judge
from ._asked import Asked
from ._asking_middleware import AskingMiddleware


class GuardrailPhase(StrEnum):
    """Which text was refused: the query or the final answer."""

    INPUT = "Input"
    OUTPUT = "Output"


@dataclass(frozen=True, slots=True)
class GuardrailReview:
    """The question: what was refused, by which guardrail first, and every refusal's reason."""

    phase: GuardrailPhase
    guardrail: str
    reason: str
    text: str


class GuardrailVerdict(BaseModel):
    """The answer: let the text through, put another in its place, or block the turn. `text` is given exactly with "edit"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    verdict: Literal["allow", "edit", "block"]
    text: str | None = None

    @model_validator(mode="after")
    def _text_exactly_when_edit(self) -> GuardrailVerdict:
        if (self.verdict == "edit") is not (self.text is not None):
            raise ValueError("an edit needs its text" if self.verdict == "edit" else f"'{self.verdict}' takes no text")
        return self

    @classmethod
    def allow(cls) -> GuardrailVerdict:
        """Let the refused text through as it is."""
        return cls(verdict="allow")

    @classmethod
    def edit(cls, text: str) -> GuardrailVerdict:
        """Put this text in its place; these guardrails do not check it (6.2.6)."""
        return cls(verdict="edit", text=text)

    @classmethod
    def block(cls) -> GuardrailVerdict:
        """End the turn blocked, with the guardrail and reason that were asked about."""
        return cls(verdict="block")


class GuardrailReviewMiddleware(AskingMiddleware[GuardrailReview, GuardrailVerdict]):
    """As `GuardrailMiddleware`, but what it would block it puts to a person.

    A verdict holds for the phase and text it was given for, whatever the refusal's wording: the guardrails are not asked
    about that text again while the step runs again (6.2.4). The same text in a later turn is asked about anew.
    """

    def __init__(
        self, input: Iterable[Guardrail] | Guardrail = (), output: Iterable[Guardrail] | Guardrail = (), id: str = "guardrail-review"
    ) -> None:
        self.input = as_guardrails(input)
        self.output = as_guardrails(output)
        self.id = id

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        return await self._reviewed(GuardrailPhase.INPUT, self.input, query, context)

    async def after_agent(self, answer: str, context: RunContext) -> str | Asked:
        return await self._reviewed(GuardrailPhase.OUTPUT, self.output, answer, context)

    async def _reviewed(self, phase: GuardrailPhase, guardrails: tuple[Guardrail, ...], text: str, context: RunContext) -> str | Asked:
        for given in self.all_answered(context):
            if given.question.phase == phase and given.question.text == text:
                return _applied(given.answer, given.question)
        judgement = await judge(guardrails, text)
        if not judgement.failures:
            return judgement.text
        return self.ask(GuardrailReview(phase, judgement.failures[0].guardrail, judgement.reason, text))


def _applied(verdict: GuardrailVerdict, review: GuardrailReview) -> str:
    match verdict.verdict:
        case "allow":
            return review.text
        case "edit" if verdict.text is not None:
            return verdict.text
        case _:
            raise GuardrailBlocked(guardrail=review.guardrail, reason=review.reason)

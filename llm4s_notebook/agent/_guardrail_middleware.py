"""Guardrails around a turn: a refused text ends it (6.1)."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import GuardrailBlocked
from ..graph import RunContext
from ..guardrails import Guardrail, as_guardrails, judge
from ._middleware import AgentMiddleware


class GuardrailMiddleware(AgentMiddleware):
    """Check the query with the `input` guardrails and the final answer with the `output` ones; a refusal blocks the turn."""

    def __init__(
        self, input: Iterable[Guardrail] | Guardrail = (), output: Iterable[Guardrail] | Guardrail = (), id: str = "guardrails"
    ) -> None:
        self.input = as_guardrails(input)
        self.output = as_guardrails(output)
        self.id = id

    async def before_agent(self, query: str, context: RunContext) -> str:
        return await _passed(self.input, query)

    async def after_agent(self, answer: str, context: RunContext) -> str:
        return await _passed(self.output, answer)


async def _passed(guardrails: tuple[Guardrail, ...], text: str) -> str:
    judgement = await judge(guardrails, text)
    if judgement.failures:
        raise GuardrailBlocked(guardrail=judgement.failures[0].guardrail, reason=judgement.reason)
    return judgement.text

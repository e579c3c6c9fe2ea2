"""A text that waits for a verdict, as code sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...agent import GuardrailReview
from ...guardrails import Failure
from ._memory import TextVerdict


@dataclass(frozen=True, slots=True)
class TextRefusal:
    """A refused text: its id, the first guardrail that refused it, every reason joined, each refusal, and the verdict if there is one."""

    position: int
    id: Any
    review: GuardrailReview
    failures: tuple[Failure, ...]
    verdict: TextVerdict | None

    @property
    def text(self) -> str:
        return self.review.text

    @property
    def guardrail(self) -> str:
        """The first that refused it; `failures` has all."""
        return self.review.guardrail

    @property
    def reason(self) -> str:
        """Every refusal's reason, joined."""
        return self.review.reason

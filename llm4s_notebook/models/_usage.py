"""What model calls cost, per call and summed over a thread (1.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ._json import FrozenDict


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; `cost` in the provider's currency, None where it is not known."""

    input_tokens: int
    output_tokens: int
    cost: float | None = None


def _total_cost(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else a + b


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """The sums of one model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None

    def adding(self, usage: Usage | None) -> ModelUsage:
        """Count one more request; without a usage it counts with zero tokens (1.5.3)."""
        if usage is None:
            return ModelUsage(self.requests + 1, self.input_tokens, self.output_tokens, self.cost)
        return ModelUsage(
            self.requests + 1,
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
            _total_cost(self.cost, usage.cost),
        )


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """The sums of a thread, in all and per model (1.5.1)."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    by_model: Mapping[str, ModelUsage] = field(default_factory=lambda: FrozenDict({}))

    def adding(self, model: str, usage: Usage | None) -> UsageSummary:
        """The summary with one more request of `model`."""
        total = ModelUsage(self.requests, self.input_tokens, self.output_tokens, self.cost).adding(usage)
        by_model = {**self.by_model, model: self.by_model.get(model, ModelUsage()).adding(usage)}
        return UsageSummary(total.requests, total.input_tokens, total.output_tokens, total.cost, FrozenDict(by_model))

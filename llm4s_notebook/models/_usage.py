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


_NOTHING_SAID = Usage(0, 0)


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
        used = usage or _NOTHING_SAID
        return ModelUsage(
            self.requests + 1,
            self.input_tokens + used.input_tokens,
            self.output_tokens + used.output_tokens,
            _total_cost(self.cost, used.cost),
        )


_NO_REQUEST = ModelUsage()


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
        used = usage or _NOTHING_SAID
        by_model = {**self.by_model, model: self.by_model.get(model, _NO_REQUEST).adding(usage)}
        return UsageSummary(
            self.requests + 1,
            self.input_tokens + used.input_tokens,
            self.output_tokens + used.output_tokens,
            _total_cost(self.cost, used.cost),
            FrozenDict(by_model),
        )

"""A model's provider gave no answer that can be stored."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ._base import Llm4sError

ProviderFault: TypeAlias = Literal[
    "rate-limit",
    "quota",
    "overloaded",
    "server",
    "timeout",
    "connection",
    "truncated",
    "bad-answer",
    "content-filter",
    "context-window",
    "max-tokens",
    "authentication",
    "not-found",
    "rejected",
    "unexpected",
]


class ProviderFailed(Llm4sError):
    """A provider gave no answer that can be stored (M4.1); inside a turn it is the `cause` of a ModelFailed.

    `fault` says what went wrong, `attempts` how many requests were sent, `status` the HTTP status of the last one where it had
    one, `retry_after` the seconds the provider asked to wait where it said. The text never holds the key (M1.5).
    """

    def __init__(
        self,
        what: str,
        *,
        fault: ProviderFault,
        model: str,
        next_step: str,
        attempts: int = 1,
        status: int | None = None,
        retry_after: float | None = None,
        recoverable: bool = False,
    ) -> None:
        self.fault = fault
        self.model = model
        self.attempts = attempts
        self.status = status
        self.retry_after = retry_after
        self.recoverable = recoverable
        super().__init__(what, where=f"model '{model}'", next_step=next_step)

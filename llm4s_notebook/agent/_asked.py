"""The markers and records of a middleware's question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..models import Json

Q = TypeVar("Q")
Ans = TypeVar("Ans")


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question on its way to a person: made by `ask`, and returned by the hook that asks (D3).

    Outside an agent's run nobody puts it to anybody, and its text says so (4.3.9).
    """

    middleware: str
    question: Json
    asker: object

    def __str__(self) -> str:
        return f"Middleware '{self.middleware}' asked a question"


@dataclass(frozen=True, slots=True)
class Answered(Generic[Q, Ans]):
    """A middleware's own question and what it was answered."""

    question: Q
    answer: Ans

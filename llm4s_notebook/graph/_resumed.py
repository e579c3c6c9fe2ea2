"""What a resume node receives: the question it was asked and the answer that was given (R1.25)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Q = TypeVar("Q")
Ans = TypeVar("Ans")


@dataclass(frozen=True)
class Resumed(Generic[Q, Ans]):
    """The input of a resume node; its JSON form is an object with the members `question` and `answer`."""

    question: Q
    answer: Ans

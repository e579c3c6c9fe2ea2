"""The forms in which answers may be given, brought to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from ..graph import Answer, Answers

Pair: TypeAlias = tuple[str, Any]


def pairs(answers: Answers) -> tuple[Pair, ...]:
    """The (interrupt id, value) pairs in the order given; one id twice stays twice, for `resume` to refuse (D5)."""
    if isinstance(answers, Mapping):
        return tuple(cast("Mapping[str, Any]", answers).items())
    if isinstance(answers, Answer):
        return (answers,)
    return tuple(cast("tuple[Pair, ...]", tuple(answers)))

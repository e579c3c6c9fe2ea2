"""The forms in which answers may be given, brought to one."""

from __future__ import annotations

from typing import Any, TypeAlias

from ..graph import Answers, given_answers

Pair: TypeAlias = tuple[str, Any]


def pairs(answers: Answers) -> tuple[Pair, ...]:
    """The (interrupt id, value) pairs in the order given; one id twice stays twice, for `resume` to refuse (D5).

    Raises: ConfigError for anything else than ids and values.
    """
    return given_answers(answers)

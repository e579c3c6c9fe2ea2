"""Checks on a text, and how a list of them judges it. Knows nothing of agents or graphs."""

from ..errors import Refused
from ._checks import JsonValidator, LengthCheck, RegexValidator, WordList
from ._composite import all_of, any_of, sequence
from ._guardrail import Failure, Guardrail, Judgement, as_guardrails, check, judge
from ._worker import in_worker

__all__ = [
    "Failure",
    "Guardrail",
    "JsonValidator",
    "Judgement",
    "LengthCheck",
    "Refused",
    "RegexValidator",
    "WordList",
    "all_of",
    "any_of",
    "as_guardrails",
    "check",
    "in_worker",
    "judge",
    "sequence",
]

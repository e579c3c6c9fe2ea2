"""A verdict as a person or a function gives it (T2.1)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ...agent import GuardrailVerdict
from ...errors import ConfigError, half_character
from ...models import is_blank

Verdict: TypeAlias = GuardrailVerdict | Literal["allow", "block"]


def verdict_of(given: object) -> GuardrailVerdict:
    """The verdict that is meant. Raises: ConfigError."""
    if isinstance(given, GuardrailVerdict):
        return given
    if given in ("allow", "block"):
        return GuardrailVerdict.allow() if given == "allow" else GuardrailVerdict.block()
    problem = f"a verdict is 'allow', 'block', or a GuardrailVerdict such as GuardrailVerdict.edit('…'), not {given!r}"
    raise ConfigError(field="decide", problems=[problem])


def check_verdict(verdict: GuardrailVerdict, text: str, note: str | None) -> None:
    """Whether it can be given on `text`. Raises: ConfigError for a blank edit (4.1.4), one that changes nothing, what cannot be stored."""
    for name, given in (("the text in its place", verdict.text), ("the note", note)):
        _check_storable(name, given)
    if verdict.text is not None and is_blank(verdict.text):
        raise ConfigError(field="decide", problems=["the text in its place is blank, and a blank text blocks: block it instead"])
    if verdict.text is not None and verdict.text == text:
        raise ConfigError(field="decide", problems=["the edit changes nothing: allow the text instead"])


def _check_storable(name: str, text: object) -> None:
    if text is not None and not isinstance(text, str):
        raise ConfigError(field="decide", problems=[f"{name} is {type(text).__name__}, not a text"])
    if text is not None and half_character(text) is not None:
        raise ConfigError(field="decide", problems=[f"{name} has half a character, which cannot be stored"])

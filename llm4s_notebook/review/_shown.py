"""What a card showed and what was answered to it, as a decision log keeps them: plain JSON, dots for secrets (L1.6). Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from ..agent import DOTS, SecretPlaces, is_hidden
from ..graph import Answer
from ..models import Json
from ..wire import PendingCard

_FIELDS = ("agent", "tool_name", "arguments", "reason", "source", "middleware", "hook")


def shown_of(card: PendingCard) -> dict[str, Json]:
    """The part of a card that a person decides on; what its kind does not have is left out."""
    fields = card.model_dump(mode="json")
    shown = {name: fields[name] for name in _FIELDS if fields[name] is not None}
    if card.kind == "BREAKPOINT":
        shown |= {name: fields[name] for name in ("node", "phase", "result", "message") if fields[name] is not None}
    elif card.guardrail is not None:
        shown["guardrail"] = fields["guardrail"]
    elif card.kind != "APPROVAL":
        if card.agent is None:
            shown["node"] = card.node
        shown["question"] = fields["question"]  # null is a question too
    return shown


class Given(NamedTuple):
    """An answer as it is kept. `secrets` says that dots in it stand for something the person gave with it."""

    answered: Json
    secrets: bool


def given_to(card: PendingCard, value: Any) -> Given:
    """The answer with dots for its secrets. Dots that an edit left stand for what they stood for, and are no new secret.

    Where nobody can tell what of an answer is secret all of it counts as such.
    """
    answered: Json = Answer.reply(card.id, value).value
    if card.kind == "BREAKPOINT":
        return Given(answered, False)
    if card.kind == "APPROVAL":
        arguments = cast("dict[str, Json]", answered).get("arguments") if isinstance(answered, dict) else None
        places = None if arguments is None or card.arguments_schema is None else SecretPlaces.of(card.arguments_schema)
        if places is None:
            return Given(answered, False)
        known = {text: text for text in _hidden_texts(card.arguments)}
        hidden = places.hide(arguments, known)
        return Given({**cast("dict[str, Json]", answered), "arguments": hidden.shown}, not hidden.values.keys() <= known.keys())
    if card.answer_schema is None:
        return Given(DOTS, True)
    places = SecretPlaces.of(card.answer_schema)
    if places is None:
        return Given(answered, False)
    hidden = places.hide(answered)
    return Given(hidden.shown, bool(hidden.values))


def _hidden_texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        if is_hidden(value):
            yield value
    elif isinstance(value, dict):
        for item in cast("dict[str, Json]", value).values():
            yield from _hidden_texts(item)
    elif isinstance(value, list):
        for item in cast("list[Json]", value):
            yield from _hidden_texts(item)

"""What a call says after it was given secrets: their values are found in texts and replaced by their dots (3.8.5). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast
from urllib.parse import quote, quote_plus

from ..models import Json, thaw
from ._codec import to_json
from ._outcome import NeedsApproval, Success, ToolError, ToolOutcome

SHORTEST = 4
"""Characters from which on a secret is looked for: a shorter one would be found everywhere."""


class Concealer:
    """Knows the secrets of one call, by the dots that are shown for each."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._dots: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        if not values:
            return
        self._dots = {form: dots for dots, value in values.items() for text in _scalars(value) for form in _forms(text)}
        longest_first = sorted(self._dots, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The text with dots in place of every secret in it, also where it is written as JSON, as Python or in a URL."""
        return text if self._pattern is None else self._pattern.sub(lambda found: self._dots[found.group()], text)

    def json(self, value: Json) -> Json:
        """The same for every text and number in a JSON value, names of properties included; the value itself where nothing is found."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._dots.get(str(value), value)
        if isinstance(value, dict):
            return {self.text(name): self.json(item) for name, item in cast(dict[str, Json], value).items()}
        if isinstance(value, list):
            return [self.json(item) for item in cast(list[Json], value)]
        return value

    def outcome(self, outcome: ToolOutcome) -> ToolOutcome:
        """The tool's outcome as its wrappers, the model and people may see it. A question is concealed once it is encoded."""
        if self._pattern is None:
            return outcome
        match outcome:
            case Success(content=content, update=update):
                return Success(self._content(content), update)
            case ToolError(message=message):
                return ToolError(self.text(str(message)))
            case NeedsApproval(reason=reason):
                return NeedsApproval(self.text(str(reason)))
            case _:
                return outcome

    def _content(self, content: Any) -> Any:
        try:
            made = thaw(to_json(content))
        except Exception:  # it has no JSON form, which becomes the call's error later
            return content
        concealed = self.json(made)
        return content if concealed == made else concealed


NOTHING_SECRET = Concealer({})
"""Of a call without secrets: everything it says stays as it is."""


def _scalars(value: Json) -> Iterator[str]:
    """Every text and number of a secret, which is a whole object where one stood in a secret's place."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, dict):
        for item in cast(dict[str, Json], value).values():
            yield from _scalars(item)
    elif isinstance(value, list):
        for item in cast(list[Json], value):
            yield from _scalars(item)


def _forms(text: str) -> set[str]:
    """How a secret may be written inside another text."""
    if len(text) < SHORTEST:
        return set()
    as_json = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
    return {text, repr(text)[1:-1], quote(text, safe=""), quote_plus(text), *as_json}

"""Checks that need nothing but the text: its length, a pattern, a word list, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Literal

from ..errors import ConfigError, Refused
from ._fold import as_words


class LengthCheck:
    """Refuse a text of fewer than `min` or more than `max` characters (code points); None sets no bound."""

    def __init__(self, min: int | None = None, max: int | None = None, *, name: str = "LengthCheck") -> None:
        bounds: tuple[tuple[str, object], ...] = (("min", min), ("max", max))
        problems = [f"{what} is a number of characters or None, not {value!r}" for what, value in bounds if not _is_count(value)]
        problems += [f"{what} must not be negative, not {value}" for what, value in bounds if isinstance(value, int) and value < 0]
        if not problems and min is not None and max is not None and min > max:
            problems.append(f"min {min} is above max {max}")
        if problems:
            raise ConfigError(field=name, problems=problems)
        self.name = name
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        return f"LengthCheck(min={self.min}, max={self.max})"

    async def check(self, text: str) -> str:
        """Return the text as it is. Raises: Refused."""
        length = len(text)
        if self.min is not None and length < self.min:
            raise Refused(f"Input too short: {length} characters, at least {self.min} wanted")
        if self.max is not None and length > self.max:
            raise Refused(f"Input too long: {length} characters, at most {self.max} allowed")
        return text


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


class RegexValidator:
    """Refuse a text in which the pattern is not found; anchor it to match the whole text.

    `must="not match"` turns it round: a text in which the pattern is found is refused.

    The pattern is searched for as Python does it, which takes for ever where one repeats inside another over the same
    characters, such as `(a+)+b` on a long run of a; interrupting the kernel ends it, cancelling the run does not. Write patterns
    that cannot, or put a `LengthCheck` before it in a `sequence`.
    """

    def __init__(
        self,
        pattern: str | re.Pattern[str],
        *,
        must: Literal["match", "not match"] = "match",
        message: str | None = None,
        name: str = "RegexValidator",
    ) -> None:
        try:
            self.pattern = re.compile(pattern)
            self.pattern.search("")
        except (re.error, TypeError, RecursionError) as error:
            raise ConfigError(field=name, problems=[f"pattern {pattern!r}: {error}"]) from error
        if must not in ("match", "not match"):
            raise ConfigError(field=name, problems=[f"must is 'match' or 'not match', not {must!r}"])
        self.name = name
        self.must = must
        self.message = message

    def __repr__(self) -> str:
        return f"RegexValidator({self.pattern.pattern!r}, must={self.must!r})"

    async def check(self, text: str) -> str:
        """Return the text as it is. Raises: Refused."""
        if (self.pattern.search(text) is not None) is not (self.must == "match"):
            verb = "does not match" if self.must == "match" else "matches"
            raise Refused(self.message or f"the text {verb} the pattern {self.pattern.pattern}")
        return text


class WordList:
    """Refuse a text that contains one of these words, as whole words.

    Case, width and composition make no difference, nor does what nobody sees between the letters or a letter of another script
    that is drawn like a Latin one: STRASSE is "straße", and an accent may be part of its letter or behind it. Another accent
    makes another word.
    """

    def __init__(self, words: Iterable[str], *, name: str = "WordList", message: str | None = None) -> None:
        listed = [words] if isinstance(words, str) else list(words)
        strangers: list[object] = [word for word in listed if not isinstance(word, str)]  # pyright: ignore[reportUnnecessaryIsInstance]
        if strangers:
            raise ConfigError(field=name, problems=[f"{word!r} is no word" for word in strangers])
        self._listed = {as_words(word): word.strip().lower() for word in reversed(listed)}
        if not listed or "" in self._listed:
            raise ConfigError(field=name, problems=["at least one word is wanted, and none may be blank"])
        self.name = name
        self.words = tuple(listed)
        self.message = message
        # not \b: a listed word may begin or end with something that is no letter
        found = "|".join(re.escape(word) for word in sorted(self._listed, key=len, reverse=True))
        self._pattern = re.compile(rf"(?<!\w)(?:{found})(?!\w)")

    def __repr__(self) -> str:
        return f"WordList({len(self.words)} words)"

    async def check(self, text: str) -> str:
        """Return the text as it is. Raises: Refused, naming the listed words that were found."""
        found = list(dict.fromkeys(self._listed[match.group()] for match in self._pattern.finditer(as_words(text))))
        if found:
            raise Refused(self.message or f"inappropriate content: {', '.join(found)}")
        return text


class JsonValidator:
    """Refuse a text that is not one JSON document."""

    def __init__(self, *, name: str = "JsonValidator") -> None:
        self.name = name

    def __repr__(self) -> str:
        return "JsonValidator()"

    async def check(self, text: str) -> str:
        """Return the text as it is. Raises: Refused, saying where it stops being JSON."""
        try:
            json.loads(text, parse_constant=_no_constant, parse_int=str)  # a number may have more digits than an int can be read from
        except ValueError as error:
            raise Refused(f"not valid JSON: {error}") from error
        except RecursionError as error:
            raise Refused("not valid JSON: it is nested too deeply to be read") from error
        return text


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")

"""Text of models, tools and people as it may be displayed: what is not seen is shown by its number, what is long is cut (W5.7). Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

LONGEST_LINE = 1_000  # characters
MOST_LINES = 100
_JOINERS = "\u200c\u200d"
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with `<U+202E>` for every control, every mark that turns the reading order, and every character without a width.

    Line breaks and tabs stay. So do joiners between characters beyond ASCII, where scripts and emoji are written with them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(text))


def _shown(text: str) -> Iterator[str]:
    for at, one in enumerate(text):
        seen = one in "\n\t" or unicodedata.category(one) not in _UNSEEN
        yield one if seen or (one in _JOINERS and _joins(text, at)) else f"<U+{ord(one):04X}>"


def _joins(text: str, at: int) -> bool:
    """Whether a joiner stands between two characters that may be written with one; not at an end, not twice, not in ASCII."""
    beside = (text[at - 1 : at], text[at + 1 : at + 2])
    return all(one and not one.isascii() and unicodedata.category(one) not in _UNSEEN for one in beside)


def cut(line: str, limit: int = LONGEST_LINE) -> str:
    """A text as one visible line of so many characters at most, with a note of how many more there are."""
    more = len(line) - limit
    head = line[:limit].replace("\n", " ⏎ ").replace("\t", " ")
    return f"{visible(head)}… ({more:,} more character{'s' if more != 1 else ''})" if more > 0 else visible(head)


def lines_of(text: str) -> list[str]:
    """The lines of a text, visible, each cut, and a note in place of those beyond the most that are shown."""
    lines = text.split("\n")
    shown = [cut(line) for line in lines[:MOST_LINES]]
    more = len(lines) - MOST_LINES
    return [*shown, f"… ({more:,} more line{'s' if more != 1 else ''})"] if more > 0 else shown

"""A text as a reader sees it, so that a check is not evaded by characters that nobody sees.

Digits, letters and signs of other widths and scripts that have one plain twin become it, every dash a hyphen, every space a
space; what has no width (zero-width characters, direction marks, soft hyphens, accents of their own) falls away. Each folded
character remembers where it stands in the text, in code points.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

COVERED = "\ufffc"
"""What stands for a covered stretch: neither letter, digit, bracket nor dash, so that no pattern reaches across it by chance."""

# No width although they are neither format characters nor marks: fillers.
_WIDTHLESS = {"\u115f", "\u1160", "\u180f", "\u3164", "\uffa0"}
_MINUS = "\u2212"
# Marks that show nothing of their own: the joiner of graphemes and the choices among forms of one character.
_SEEN_BY_NOBODY = {"\u034f", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0xE0100, 0xE01F0))}
# Letters of other scripts (Cyrillic, Greek, Armenian, phonetic) that are drawn like Latin ones.
_DRAWN_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u043a\u043c\u0442"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405"
    "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0585\u0578\u057d\u0570\u0251\u0261",
    "aeopcyxijshdqwkmtABEKMHOPCTXYIJSaeikvoptuxABEZHIKMNOPTYXonuhag",
)
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Folded:
    """The folded text; its character `i` comes from `starts[i]` up to `ends[i]` of the text."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where the folded stretch stands in the text; `end` is above `start`."""
        return self.starts[start], self.ends[end - 1]


def fold(text: str, covered: Iterable[tuple[int, int]] = ()) -> Folded:
    """Fold the text; each covered stretch (sorted, apart, none empty) becomes one `COVERED`. Takes time in proportion to the text."""
    stretches = list(covered)
    if text.isascii() and not stretches:
        return Folded(text, range(len(text)), range(1, len(text) + 1))
    twins = {character: _twin(character) for character in set(text) if character > "\x7f"}
    characters: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for start, end in [*stretches, (len(text), len(text))]:
        for place in range(at, start):
            character = text[place]
            twin = twins.get(character, character)
            if twin:
                characters.append(twin)
                starts.append(place)
                ends.append(place + 1)
            elif ends and ends[-1] == place and unicodedata.category(character).startswith("M"):
                ends[-1] = place + 1  # an accent goes with its letter
        if end > start:
            characters.append(COVERED)
            starts.append(start)
            ends.append(end)
        at = end
    return Folded("".join(characters), starts, ends)


def _twin(character: str) -> str:
    """One character that stands for it, or "" for one without width."""
    category = unicodedata.category(character)
    if category == "Cf" or category in ("Mn", "Me") or character in _WIDTHLESS:
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category == "Pd" or character == _MINUS:
        return "-"
    if category == "Zs":
        return " "
    if category in ("Zl", "Zp"):
        return "\n"
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


def as_words(text: str) -> str:
    """The text as one compares words: in no case, width or composition of its own, without what nobody sees, with single spaces.

    Unlike `fold` it keeps accents and vowel signs, which make another word of their letters.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    composed = unicodedata.normalize("NFC", text)
    twins = {ord(character): _word_twin(character) for character in set(composed) if character > "\x7f"}
    uncased = unicodedata.normalize("NFC", composed.translate(twins).casefold())
    dotted = uncased.replace("i\u0307", "i").replace("\u0131", "i")  # the Turkish i, with and without its dot
    return " ".join(latin(dotted).split())


def _word_twin(character: str) -> str:
    if character in _SEEN_BY_NOBODY:
        return ""
    return character if unicodedata.category(character) in ("Mn", "Me") else _twin(character)


def latin(text: str) -> str:
    """The text with Latin letters for those of other scripts that stand for them: in words that have Latin ones too, and only if all do.

    No word that a person writes mixes scripts like that. Every character stays where it is.
    """
    return text if text.isascii() else _WORD.sub(_latin_word, text)


def _latin_word(found: re.Match[str]) -> str:
    word = found.group()
    if word.isascii() or not _LATIN.search(word):
        return word
    read = word.translate(_DRAWN_ALIKE)
    return read if read.isascii() else word

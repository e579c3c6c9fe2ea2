"""A key never stands in a text that is shown or stored (M1.5)."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

DOTS = "••••"
_LEAST = 8
"""A piece of the key this long counts as the key; shorter ones would take ordinary words along."""
_SHORT = 4
"""A key as short as this, such as "x" for a local server that wants none, counts only where it stands alone."""
_WORD = re.compile(r"[A-Za-z0-9_\-.+/=~]{8,}")


def without_key(text: str, key: str) -> str:
    """The text with the key, in any of its spellings, and every longer piece of it, replaced by dots."""
    for spelling in sorted({key, quote(key, safe=""), json.dumps(key)[1:-1], repr(key)[1:-1]}, key=len, reverse=True):
        text = re.sub(_within(re.escape(spelling), alone=len(key) < _SHORT), DOTS, text)
    if len(key) < _LEAST:
        return text
    return _WORD.sub(lambda found: DOTS if _shares_a_piece(found.group(), key) else found.group(), text)


def _within(pattern: str, *, alone: bool) -> str:
    return rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])" if alone else pattern


def _shares_a_piece(word: str, key: str) -> bool:
    return any(word[at : at + _LEAST] in key for at in range(len(word) - _LEAST + 1))

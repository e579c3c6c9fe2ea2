"""E-mail addresses, by a pattern of our own: whether a domain is registered is nobody's business here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ._span import PiiSpan

# Scripts written without spaces: a neighbouring word of theirs is no part of an address.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"(?:(?![{_UNSPACED}_])\w)"
_LOCAL = re.compile(rf"(?:{_LETTER}|[.!#$%'*+~^_-])")
_LABEL = rf"{_LETTER}(?:(?:{_LETTER}|-){{0,61}}{_LETTER})?"
_DOMAIN = re.compile(rf"(?:{_LABEL}\.){{1,10}}(?:xn--[0-9A-Za-z-]{{1,59}}|(?:(?!\d){_LETTER}){{2,63}})(?!{_LETTER})")


class Email:
    """Finds each @ with a name before it and a domain behind."""

    kinds = ("email",)

    def find(self, text: str) -> Iterator[PiiSpan]:
        """Walk out from each @ until a character that cannot be of an address: no character is looked at from two of them."""
        edge = 0
        at = text.find("@")
        while at >= 0:
            start = at
            while start > edge and _LOCAL.match(text, start - 1):
                start -= 1
            while start < at and not text[start].isalnum():
                start += 1  # a quote or dot before the name
            domain = _DOMAIN.match(text, at + 1) if start < at else None
            edge = at + 1
            if domain:
                edge = domain.end()
                yield PiiSpan(start, edge, "email")
            at = text.find("@", edge)

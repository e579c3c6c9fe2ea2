"""Bank account numbers (IBAN), through `stdnum`: length and structure of the country, and the check digits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ._recognizer import AFTER, BEFORE
from ._span import PiiSpan

_START = re.compile(rf"{BEFORE}[A-Z]{{2}}[0-9]{{2}}", re.IGNORECASE | re.ASCII)
_REST = re.compile(r"(?:[ -]?[0-9A-Z]){11,30}", re.IGNORECASE | re.ASCII)
_BEHIND = re.compile(AFTER)


class Iban:
    """Finds account numbers, unbroken or in groups."""

    kinds = ("iban",)

    def __init__(self) -> None:
        from stdnum import iban, numdb

        self._is_valid = iban.is_valid
        countries: dict[str, int] = {}
        for _, country, _, told, _ in numdb.get("iban").prefixes:
            countries[country] = 4 + sum(int(length) for length in re.findall(r"(\d+)!", told.get("bban", "")))
        self._lengths = countries

    def find(self, text: str) -> Iterator[PiiSpan]:
        """Try each country code with two digits behind it, at the one length that the country has."""
        edge = 0
        for head in _START.finditer(text):
            length = self._lengths.get(head.group()[:2].upper())
            rest = _REST.match(text, head.end()) if length and head.start() >= edge else None
            if rest is None or length is None:
                continue
            places = [place for place in range(head.start(), rest.end()) if text[place] not in " -"]
            if len(places) < length:
                continue
            end = places[length - 1] + 1
            if _BEHIND.match(text, end) and self._is_valid(text[head.start() : end], check_country=False):
                edge = end
                yield PiiSpan(head.start(), end, "iban")

"""Credit card numbers: a card's digits and length, and Luhn's check digit through `stdnum`."""

from __future__ import annotations

import re

from ._recognizer import Shaped

_GAP = r"[ .-]{1,2}"
_SHAPES = (
    r"[0-9]{13,19}",
    rf"[0-9]{{4}}(?:{_GAP}[0-9]{{4}}){{3}}",
    rf"[0-9]{{4}}(?:{_GAP}[0-9]{{4}}){{3}}{_GAP}[0-9]{{3}}",
    rf"[0-9]{{4}}{_GAP}[0-9]{{6}}{_GAP}[0-9]{{4,5}}",
)
# Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro
_CARD = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})|(?:5[1-5]|2[2-7])[0-9]{14}|3[47][0-9]{13}|3(?:0[0-5]|[689][0-9])[0-9]{11}"
    r"|35[0-9]{14}|6[0-9]{15,18}|5[0678][0-9]{11,17}"
)


def cards() -> tuple[Shaped, ...]:
    """Card numbers, unbroken or in the groups that are printed on a card."""
    from stdnum import luhn

    def is_card(text: str) -> bool:
        digits = re.sub(r"[ .-]", "", text)
        return _CARD.fullmatch(digits) is not None and luhn.is_valid(digits)

    return tuple(Shaped("credit_card", shape, is_card) for shape in _SHAPES)

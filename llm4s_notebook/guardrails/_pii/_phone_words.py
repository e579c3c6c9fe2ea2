"""The words beside a run of digits that make a phone number of it (6.3.4).

Many numbers of ten digits could be dialled in North America, the largest of 32 bits among them, and so could many an order number.
Only what somebody wrote beside such a run tells it from these.
"""

from __future__ import annotations

import re

from .._fold import COVERED

_BEFORE, _AFTER = 40, 16
"""Characters that are looked at."""

_IN_A_WORD = (
    "phone", "phono", "fono", "telef", "teléf", "cellul", "celul", "whatsapp", "rufnummer", "телефон", "τηλέφ", "هاتف", "טלפון",
    "फ़ोन", "फोन", "电话", "電話", "手机", "手機", "携帯", "전화", "휴대폰", "โทร", "điện thoại",
)  # fmt: skip
_WORDS = (
    "tel", "tlf", "tfn", "fax", "cell", "mob", "mobile", "mobil", "móvil", "movil", "handy", "portable", "gsm", "fon", "puh", "sms",
    "call", "calling", "dial", "dialling", "dialing", "ring", "anrufen", "appeler", "appelez", "llamar", "llame", "ligar", "ligue",
    "chiamare", "chiamami", "ringa", "soita", "тел", "моб", "τηλ", r"ph(?=[.:])", r"wa\.me",
    r"(?:text|reach|contact) (?:me|us|him|her|them)", r"ruf(?:en)? (?:mich|uns|sie)", r"bel (?:me|mij|ons)",
    r"(?:my|your|his|her|our|their) (?:[a-z]{1,12} )?number",
)  # fmt: skip

_SAID = rf"(?:{'|'.join(_IN_A_WORD)}|(?<![^\W_])(?:{'|'.join(_WORDS)})(?![^\W_]))(?![_ -]?ids?(?![^\W_]))"
_WORD = re.compile(_SAID, re.IGNORECASE)
_WORD_NEXT = re.compile(rf"[ ,;:/(\[-]{{0,3}}{_SAID}", re.IGNORECASE)
_EXTENSION = re.compile(r",? ?ext|x ?[0-9]{2,5}(?![0-9])", re.IGNORECASE)
_OTHER_DATA = re.compile(rf"[0-9]{{3}}|{re.escape(COVERED)}")
_LISTED = re.compile(r"[\s,;/|&)(]{1,4}(?:(?:and|or|und|oder|et|ou|y|o|e) )?")


def said_to_be_a_phone(text: str, start: int, end: int, found_to: int) -> bool:
    """Whether a word close before or right behind the digits says so, or an extension, or they go on a list of phone numbers.

    `found_to` is where the phone number found last ends, or 0. The work does not grow with the text.
    """
    if found_to and _LISTED.fullmatch(text, found_to, start):
        return True
    if _EXTENSION.match(text, end) or _WORD_NEXT.match(text, end, end + _AFTER):
        return True
    return any(not _OTHER_DATA.search(text, word.end(), start) for word in _WORD.finditer(text, max(0, start - _BEFORE), start))

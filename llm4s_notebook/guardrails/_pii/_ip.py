"""IP addresses of both versions, by their written form."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from ._recognizer import Shaped

_V4 = r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}"


def ip_addresses() -> tuple[Shaped, ...]:
    """Four numbers with dots, and groups of hexadecimal digits with colons; whose address it is plays no part."""
    return (
        Shaped("ip", r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}", _is_v4, before=r"(?<![0-9A-Za-z.])", after=r"(?!\.?[0-9A-Za-z])"),
        Shaped(
            "ip",
            r"[0-9a-f:]{2,39}(?:(?<=:)[0-9]{1,3}(?:\.[0-9]{1,3}){3})?",
            _is_v6,
            before=r"(?<![0-9A-Za-z:.])",
            after=r"(?![0-9A-Za-z:])",
        ),
    )


def _is_v4(text: str) -> bool:
    try:
        IPv4Address(re.sub(r"\b0+(?=[0-9])", "", text))
    except AddressValueError:
        return False
    return True


def _is_v6(text: str) -> bool:
    # what is short is a slice (1::2), a time, or C++ (a::b)
    groups = text.split(":")
    if (len(groups) < 8 and not any(len(group) > 2 for group in groups)) or not any(character.isdigit() for character in text):
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True

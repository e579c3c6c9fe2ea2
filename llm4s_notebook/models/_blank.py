"""What counts as nothing said."""

from __future__ import annotations

import unicodedata


def is_blank(text: str) -> bool:
    """Whether nothing of a text is seen: it is empty, or all of it is white space, controls and characters without a width."""
    return all(one.isspace() or unicodedata.category(one) in ("Cc", "Cf") for one in text)

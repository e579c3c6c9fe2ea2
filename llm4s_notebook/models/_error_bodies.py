"""The sentence in the body of an error: each provider, and each server with a provider's interface, has its own form for it (M4.1)."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, cast

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
"""What would steer a terminal, or turn a line around."""
_MOST = 10_000  # characters of a body that are looked at: what is said stands at its beginning, and it may have any length
_DEEPEST = 10  # records and lists around the sentence
_HEAD = re.compile(r"<(style|script)\b.*?</\1>", re.IGNORECASE | re.DOTALL)


def message_in(body: Any, deepest: int = _DEEPEST) -> str | None:
    """The sentence of a body; None where it has none.

    `error.message` or `message` (the providers, vLLM, llama.cpp), `error` as a text (Ollama), `detail` (FastAPI), the first of a
    list, a text as it is, and the words of a page of HTML (a gateway in between).
    """
    match body:
        case str() if body.strip():
            begun = body.lstrip()[:_MOST]
            return _words(begun) if begun.startswith("<") else begun
        case [first, *_] if deepest:
            return message_in(first, deepest - 1)
        case dict() if deepest:
            found = cast("dict[str, Any]", body)
            names = ("error", "message", "detail", "msg")
            return next((said for name in names if (said := message_in(found.get(name), deepest - 1))), None)
        case _:
            return None


def one_line(text: str, longest: int) -> str:
    """A text in one line of at most `longest` characters, without what a terminal would obey."""
    line = " ".join(_UNSEEN.sub(" ", text).split())
    return line if len(line) <= longest else f"{line[:longest]} …"


def _words(page: str) -> str | None:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", _HEAD.sub(" ", page))).split()) or None

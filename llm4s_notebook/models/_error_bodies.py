"""The sentence in the body of an error: each provider, and each server with a provider's interface, has its own form for it (M4.1)."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, cast

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
"""What would steer a terminal, or turn a line around."""
_HEAD = re.compile(r"<(style|script)\b.*?</\1>", re.IGNORECASE | re.DOTALL)


def message_in(body: Any) -> str | None:
    """The sentence of a body; None where it has none.

    `error.message` or `message` (the providers, vLLM, llama.cpp), `error` as a text (Ollama), `detail` (FastAPI), the first of a
    list, a text as it is, and the words of a page of HTML (a gateway in between).
    """
    match body:
        case str() if body.strip():
            return _words(body) if body.lstrip().startswith("<") else body
        case [first, *_]:
            return message_in(first)
        case dict():
            found = cast("dict[str, Any]", body)
            return next((said for name in ("error", "message", "detail", "msg") if (said := message_in(found.get(name)))), None)
        case _:
            return None


def one_line(text: str, longest: int) -> str:
    """A text in one line of at most `longest` characters, without what a terminal would obey."""
    line = " ".join(_UNSEEN.sub(" ", text).split())
    return line if len(line) <= longest else f"{line[:longest]} …"


def _words(page: str) -> str | None:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", _HEAD.sub(" ", page))).split()) or None

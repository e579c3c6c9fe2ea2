"""Where personal data stands in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class PiiSpan:
    """Personal data of a `kind` ("email", …) from `start` up to but not including `end`, counted in code points."""

    start: int
    end: int
    kind: str


def placeholder(kind: str) -> str:
    """What stands in its place once it is masked: [REDACTED_EMAIL] for "email" (6.3)."""
    return f"[REDACTED_{kind.upper()}]"

"""Helpers that the tests of guardrails share."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.guardrails import PiiDetector


def found(text: str, **settings: Any) -> list[tuple[str, str]]:
    """Kind and text of every find."""
    return [(span.kind, text[span.start : span.end]) for span in PiiDetector(**settings).find(text)]

"""The settings of an agent that are plain values: each is of its type, or is named with the one that is wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def plain_problems(*, system_prompt: Any, description: Any, version: Any, max_steps: Any, stream: Any) -> list[tuple[str, str]]:
    """Pairs of a setting and what is wrong with it. Not every caller is typed."""
    texts = {"system_prompt": system_prompt, "description": description, "version": version}
    found = [(name, problem) for name, text in texts.items() if (problem := _no_text(text)) is not None]
    if version == "":
        found.append(("version", "it is empty"))
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        found.append(("max_steps", f"max_steps is {max_steps!r}, and must be a whole number of at least 1"))
    if not isinstance(stream, bool):
        found.append(("stream", f"stream is {stream!r}, and must be True or False"))
    return found


def _no_text(text: Any) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"a text is wanted, not {type(text).__name__}"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"it holds half a character, at position {error.start}"
    return None


def several(given: Any, *one_of: type) -> tuple[list[Any], str | None]:
    """What was given where one or several may be, and what is wrong with it: nothing where it is one of these, or can be read through."""
    if isinstance(given, one_of):
        return [given], None
    if isinstance(given, Iterable):
        return list(given), None  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]  # each is looked at later
    return [], f"{given!r} is neither one nor several"

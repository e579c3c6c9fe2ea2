"""The settings of an agent that are plain values: each is of its type, or is named with the one that is wanted."""

from __future__ import annotations

from typing import Any


def plain_problems(*, system_prompt: Any, description: Any, version: Any, max_steps: Any, stream: Any) -> list[tuple[str, str]]:
    """Pairs of a setting and what is wrong with it. Not every caller is typed."""
    texts = {"system_prompt": system_prompt, "description": description, "version": version}
    found = [(name, problem) for name, text in texts.items() if (problem := _no_text(name, text)) is not None]
    if version == "":
        found.append(("version", "version is empty"))
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        found.append(("max_steps", f"max_steps is {max_steps!r}, and must be a whole number of at least 1"))
    if not isinstance(stream, bool):
        found.append(("stream", f"stream is {stream!r}, and must be True or False"))
    return found


def _no_text(name: str, text: Any) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        return f"{name} is {type(text).__name__}, and must be a text"
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"{name} holds half a character, at position {error.start}"
    return None

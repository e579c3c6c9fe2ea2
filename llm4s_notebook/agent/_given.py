"""What callers give as the settings of an agent, typed or not, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import ConfigError, half_character
from ..graph._given import several
from ._build import Problems
from ._node_ids import AgentNode
from ._tool import AgentTool
from ._toolset import as_tools


def plain_problems(problems: Problems, system_prompt: Any, description: Any, version: Any, max_steps: Any, stream: Any) -> None:
    """The settings that are plain values: each is of its type, or is named with the one that is wanted."""
    for name, text in (("system_prompt", system_prompt), ("description", description), ("version", version)):
        problems.add(name, _text_problems(name, text))
    if version == "":
        problems.add("version", ["version is empty"])
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        problems.add("max_steps", [f"max_steps is {max_steps!r}, and must be a whole number of at least 1"])
    if not isinstance(stream, bool):
        problems.add("stream", [f"stream is {stream!r}, and must be True or False"])


def _text_problems(name: str, text: Any) -> list[str]:
    if text is None:
        return []
    if not isinstance(text, str):
        return [f"{name} is {type(text).__name__}, and must be a text"]
    at = half_character(text)
    return [] if at is None else [f"{name} holds half a character, at position {at}"]


def tools_given(given: Any, problems: Problems) -> tuple[AgentTool, ...]:
    """The tools of the `tools` argument; each that is none, or cannot be one, is a problem."""
    try:
        many: list[Any] = [given] if isinstance(given, AgentTool) or callable(given) else list(given)
    except TypeError as error:
        problems.add("tools", [f"tools must be tools or functions: {error}"])
        return ()
    tools: list[AgentTool] = []
    for one in many:
        try:
            tools += as_tools([one])
        except ConfigError as error:
            of = f"{error.field}: " if error.field.startswith("tool '") else ""
            problems.add("tools", [of + problem for problem in error.problems])
    return tuple(tools)


def many_given(field: str, given: Any, problems: Problems, *one_of: type) -> tuple[Any, ...]:
    """The things given; a single one of these types stands for the list of it."""
    found: list[str] = []
    many = several(given, one_of, field, found)
    problems.add(field, found)
    return many


def steps_given(field: str, given: Iterable[AgentNode] | AgentNode, problems: Problems) -> tuple[AgentNode, ...]:
    """The steps of the loop given for a breakpoint."""
    steps: list[AgentNode] = []
    for one in many_given(field, given, problems, str):
        try:
            steps.append(AgentNode(one))
        except ValueError:
            problems.add(field, [f"{one!r} is no AgentNode; a run's RunConfig names node ids"])
    return tuple(steps)

"""The tools of one agent: read from what was given, and checked as a set (3.1.4)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import ConfigError
from ..graph import StateKey
from ._function_tool import FunctionTool
from ._tool import AgentTool


def as_tools(given: Iterable[AgentTool | Callable[..., Any]] | AgentTool | Callable[..., Any]) -> tuple[AgentTool, ...]:
    """The tools given; a single one stands for the list of it, a function for `tool(function)`, a tool class for its instance.

    Whatever can be called and is no class counts as a function: a method, a partial, an object with `__call__`.

    Raises: ConfigError for something that is none of these, or a function that cannot be a tool.
    """
    many: Iterable[object] = [given] if isinstance(given, AgentTool) or callable(given) else given
    return tuple(_as_tool(one) for one in many)


def _as_tool(given: object) -> AgentTool:
    if isinstance(given, AgentTool):
        return given
    if isinstance(given, type) and issubclass(given, AgentTool) and not inspect.isabstract(given):
        return given()
    if not isinstance(given, type) and callable(given):
        return FunctionTool(given)
    raise ConfigError(field="tools", problems=[f"{given!r} is no tool: give an AgentTool or a function"])


def written_keys(given: Iterable[StateKey[Any, Any]] | StateKey[Any, Any]) -> frozenset[StateKey[Any, Any]]:
    """The keys a tool or middleware may write; a single key stands for the set of it."""
    return frozenset({given} if isinstance(given, StateKey) else given)


def toolset_problems(tools: Sequence[AgentTool]) -> list[str]:
    """Invalid names, duplicate names, and schema keywords that could not be checked, all at once."""
    problems: list[str] = []
    seen: set[str] = set()
    for tool in tools:
        problems += tool.problems()
        name = getattr(tool, "name", None)
        if isinstance(name, str):
            if name in seen:
                problems.append(f"duplicate tool name '{name}'")
            seen.add(name)
    return problems

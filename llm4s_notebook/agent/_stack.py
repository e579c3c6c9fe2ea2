"""An agent's middleware in the order it runs in, and everything that can be wrong with it (4.2)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ._asking_middleware import AskingMiddleware
from ._middleware import AgentMiddleware
from ._tool import AgentTool
from ._toolset import as_tools

MIDDLEWARE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def overrides(middleware: AgentMiddleware, hook: str) -> bool:
    """True when the middleware does something of its own at the hook."""
    own = getattr(middleware, hook)
    return getattr(own, "__func__", own) is not getattr(AgentMiddleware, hook)


class Stack:
    """Middleware, outermost first, and for each hook those that override it."""

    def __init__(self, middleware: Sequence[AgentMiddleware]) -> None:
        self.all = tuple(middleware)
        self.asking = {one.id: cast(AskingMiddleware[Any, Any], one) for one in self.all if isinstance(one, AskingMiddleware)}
        self.before = tuple(one for one in self.all if overrides(one, "before_agent"))
        self.model = tuple(one for one in self.all if overrides(one, "wrap_model_call"))
        self.tool = tuple(one for one in self.all if overrides(one, "wrap_tool_call"))
        self.after = tuple(one for one in reversed(self.all) if overrides(one, "after_agent"))


def names(given: str | Iterable[str]) -> tuple[str, ...]:
    """A single id stands for the list of it."""
    return (given,) if isinstance(given, str) else tuple(given)


def stack_problems(middleware: Sequence[AgentMiddleware]) -> list[str]:
    """Every problem of a stack at once (4.2.3)."""
    problems: list[str] = []
    seen: set[str] = set()
    for one in middleware:
        id = getattr(one, "id", None)
        if not isinstance(id, str) or not MIDDLEWARE_ID.fullmatch(id):
            problems.append(f"invalid middleware id {id!r}: must match {MIDDLEWARE_ID.pattern}")
        elif id in seen:
            problems.append(f"duplicate middleware id '{id}'")
        if isinstance(id, str):
            seen.add(id)
        problems += [
            f"middleware '{id}': {hook} must be an async function (D24)"
            for hook in ("wrap_model_call", "wrap_tool_call")
            if not inspect.iscoroutinefunction(getattr(one, hook))
        ]
        if isinstance(one, AskingMiddleware) and one.question_codec is None:
            problems.append(f"middleware '{id}' does not name its types: AskingMiddleware[Question, Answer]")
    for one in middleware:
        for what, given in (("runs_after", one.runs_after), ("runs_before", one.runs_before)):
            problems += [f"middleware '{one.id}': {what} names unknown middleware '{name}'" for name in names(given) if name not in seen]
    problems += [f"middleware cycle: {' -> '.join(cycle)}" for cycle in _cycles(middleware)]
    return problems + _tool_problems(middleware)


def _tool_problems(middleware: Sequence[AgentMiddleware]) -> list[str]:
    problems: list[str] = []
    givers: dict[str, list[str]] = {}
    for one in middleware:
        own: set[str] = set()
        for tool in as_tools(one.tools):
            if tool.name in own:
                problems.append(f"tool '{tool.name}' is contributed twice by middleware '{one.id}'")
                continue
            own.add(tool.name)
            givers.setdefault(tool.name, []).append(one.id)
    problems += [f"tool '{name}' is contributed by more than one middleware: {', '.join(by)}" for name, by in givers.items() if len(by) > 1]
    return problems


def _followers(middleware: Sequence[AgentMiddleware]) -> dict[str, list[str]]:
    """id -> ids that must come after it, each in registration order."""
    order = list(dict.fromkeys(one.id for one in middleware))
    after: dict[str, set[str]] = {id: set() for id in order}
    for one in middleware:
        for name in names(one.runs_before):
            if name in after:
                after[one.id].add(name)
        for name in names(one.runs_after):
            if name in after:
                after[name].add(one.id)
    return {id: [name for name in order if name in after[id]] for id in order}


def _cycles(middleware: Sequence[AgentMiddleware]) -> list[list[str]]:
    """One path per cycle, starting and ending at its earliest-registered member."""
    try:
        followers = _followers(middleware)
    except (AttributeError, TypeError):  # a missing or unusable id, which is reported on its own
        return []
    order = list(followers)
    found: list[list[str]] = []
    done: set[str] = set()
    for start in order:
        if start in done:
            continue
        path = _path_back(start, followers, done)
        if path:
            found.append(path)
            done.update(path)
        done.add(start)
    return found


def _path_back(start: str, followers: dict[str, list[str]], done: set[str]) -> list[str]:
    """The shortest way from `start` back to itself through nodes of no other cycle; empty when there is none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop(0)
        for name in followers[path[-1]]:
            if name == start:
                return [*path, start]
            if name not in seen and name not in done:
                seen.add(name)
                paths.append([*path, name])
    return []


def ordered(middleware: Sequence[AgentMiddleware]) -> list[AgentMiddleware]:
    """Registration order, adjusted by runs_before and runs_after; ties stay as registered (4.2.2). The stack must be valid."""
    followers = _followers(middleware)
    by_id = {one.id: one for one in middleware}
    waiting = {id: 0 for id in followers}
    for later in followers.values():
        for id in later:
            waiting[id] += 1
    result: list[AgentMiddleware] = []
    while waiting:
        id = next(id for id, count in waiting.items() if count == 0)
        del waiting[id]
        result.append(by_id[id])
        for name in followers[id]:
            waiting[name] -= 1
    return result


def contributed(middleware: Sequence[AgentMiddleware]) -> list[tuple[str, AgentTool]]:
    """(middleware id, tool) for every tool the stack brings, in stack order."""
    return [(one.id, tool) for one in middleware for tool in as_tools(one.tools)]

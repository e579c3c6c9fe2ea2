"""From an agent's settings to what the loop runs: everything wrong with them is found and reported together."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from ..graph import StateKey
from ..models import ChatClient, Json, compact
from ._asking_tool import AskingTool
from ._call_secrets import CALL_SECRETS
from ._family import Member
from ._handoff import Handoff, HandoffRoute, handoff_name, handoff_spec
from ._middleware import AgentMiddleware
from ._node_ids import AgentNode
from ._secrets import SecretPlaces
from ._stack import Stack, contributed, ordered, stack_problems
from ._tool import AgentTool
from ._toolset import as_tools, toolset_problems, written_keys
from ._turn import LOOP_KEY_IDS

OWNED_KEY_IDS = LOOP_KEY_IDS | {CALL_SECRETS.id}
AGENT_ID = re.compile(r"[a-zA-Z0-9_-]{1,52}")


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved handoff."""

    id: str
    description: str | None
    preserve_context: bool


@dataclass(frozen=True, eq=False)
class Settings:
    """What an agent was built with, read and in one form."""

    id: str
    client: ChatClient
    system_prompt: str | None
    tools: tuple[AgentTool, ...]
    middleware: tuple[AgentMiddleware, ...]
    max_steps: int
    stream: bool
    handoffs: tuple[Handoff, ...] = ()
    interrupt_before: tuple[AgentNode, ...] = ()
    interrupt_after: tuple[AgentNode, ...] = ()
    description: str | None = None


@dataclass(slots=True)
class Problems:
    """Faults by the field they are in; raised as one ConfigError (2.1)."""

    found: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add(self, where: str, problems: Iterable[str]) -> None:
        """Note every problem of one field."""
        self.found.extend((where, problem) for problem in problems)

    def check(self) -> None:
        """Raises: ConfigError, its field the one that all are in, or "agent"."""
        if self.found:
            fields = {where for where, _ in self.found}
            raise ConfigError(field=fields.pop() if len(fields) == 1 else "agent", problems=[problem for _, problem in self.found])


def settings_problems(settings: Settings, problems: Problems) -> None:
    """Everything wrong with one agent by itself."""
    if not isinstance(settings.id, str) or not AGENT_ID.fullmatch(settings.id):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        problems.add("id", [f"agent id {settings.id!r} must match {AGENT_ID.pattern}"])
    if not callable(getattr(settings.client, "complete", None)):
        problems.add("client", [f"{type(settings.client).__name__} is no chat client: it has no `complete`"])
    strangers = [one for one in settings.middleware if not isinstance(one, AgentMiddleware)]  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
    problems.add("middleware stack", [f"{one!r} is no AgentMiddleware" for one in strangers])
    if strangers:
        return
    stack = stack_problems(settings.middleware)
    brought = contributed(settings.middleware)
    own = {tool.name for tool in settings.tools}
    stack += [
        f"tool '{tool.name}' is contributed by middleware '{id}' and is a tool of the agent too" for id, tool in brought if tool.name in own
    ]
    problems.add("middleware stack", stack)
    problems.add("tools", toolset_problems(settings.tools))
    problems.add("tools", [problem for _, tool in brought for problem in tool.problems()])
    problems.add("writes", _loop_key_problems(settings))


def _loop_key_problems(settings: Settings) -> list[str]:
    """Keys of the loop that a tool or middleware declares as its own (1.2.2)."""

    def owned(keys: Iterable[StateKey[Any, Any]] | StateKey[Any, Any]) -> str:
        return ", ".join(sorted(key.id for key in written_keys(keys) if key.id in OWNED_KEY_IDS))

    tools = [*settings.tools, *(tool for _, tool in contributed(settings.middleware))]
    problems = [
        f"agent '{settings.id}': tool '{tool.name}' declares a key the loop owns ({owned(tool.writes)})"
        for tool in tools
        if owned(tool.writes)
    ]
    problems += [
        f"agent '{settings.id}': middleware '{one.id}' declares a key the loop owns ({owned(one.writes)})"
        for one in settings.middleware
        if owned(one.writes)
    ]
    return problems


def member_of(settings: Settings, targets: Sequence[Target], without_context_from: frozenset[str]) -> Member:
    """The agent as the loop sees it; the settings must be valid."""
    stack = Stack(ordered(settings.middleware))
    brought = contributed(stack.all)
    tools = {tool.name: tool for tool in (*settings.tools, *(tool for _, tool in brought))}
    handoffs = {handoff_name(target.id): HandoffRoute(target.id, target.preserve_context) for target in targets}
    specs = {name: tool.spec for name, tool in tools.items()}
    offered = (*specs.values(), *(handoff_spec(target.id, target.description) for target in targets))
    writes: frozenset[StateKey[Any, Any]] = frozenset(key for one in stack.all for key in written_keys(one.writes))
    return Member(
        id=settings.id,
        client=settings.client,
        system_prompt=settings.system_prompt,
        tools=tools,
        specs=specs,
        contributed={tool.name: id for id, tool in brought},
        stack=stack,
        handoffs=handoffs,
        offered=offered,
        max_steps=settings.max_steps,
        stream=settings.stream,
        middleware_writes=writes,
        without_context_from=without_context_from,
        secret_places={name: places for name, tool in tools.items() if (places := SecretPlaces.of(tool.arguments_schema)) is not None},
    )


def _digest(value: Json) -> str:
    return hashlib.sha256(compact(value).encode()).hexdigest()


def parts_of(settings: Settings, targets: Sequence[Target], *, root: bool) -> dict[str, str]:
    """A digest of each thing the agent's behaviour is made of, under a name that a person understands (2.4.11, D14).

    Client, streaming and breakpoints are no part of it: a thread can go on without them. The root's names are the same with and
    without a family, so that a first handoff shows as the one thing that changed. Raises: ConfigError naming a tool that cannot be
    told to a model.
    """
    of = "" if root else f" of agent '{settings.id}'"
    parts = {
        f"system prompt{of}": _digest(settings.system_prompt),
        f"max_steps{of}": _digest(settings.max_steps),
        f"middleware list{of}": _digest([[one.id, [tool.name for tool in as_tools(one.tools)]] for one in settings.middleware]),
        f"handoffs{of}": _digest([[target.id, target.preserve_context] for target in targets]),
    }
    for tool in (*settings.tools, *(tool for _, tool in contributed(settings.middleware))):
        try:
            parts[f"tool '{tool.name}'{of}"] = _digest(_definition(tool))
        except (ValueError, TypeError) as error:
            raise ConfigError(field="tools", problems=[f"tool '{tool.name}': its description and schema must be JSON: {error}"]) from error
    return parts


def _definition(tool: AgentTool) -> Json:
    hints = tool.hints
    definition: list[Json] = [
        tool.name,
        tool.description,
        dict(tool.parameters),
        [hints.read_only, hints.destructive, hints.idempotent, hints.open_world],
    ]
    if isinstance(tool, AskingTool) and tool.question_codec is not None and tool.answer_codec is not None:
        definition += [tool.question_codec.schema(), tool.answer_codec.schema()]
    return definition


def version_of(parts: Mapping[str, str]) -> str:
    """SHA-256 hex over all parts (2.4.11); in what order the tools were given does not count."""
    return _digest([[name, digest] for name, digest in sorted(parts.items())])

"""A tool given as raw JSON Schema: its schema may use only keywords that are then really checked (3.3.5)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..graph import StateKey
from ..models import Json, ToolHints, freeze, thaw
from ._argument_faults import InvalidArguments
from ._arguments import decode_arguments
from ._codec import Codec
from ._context import ToolContext
from ._json_schema import schema_problems, violations
from ._outcome import OUTCOMES, Success, ToolOutcome
from ._secrets import SecretPlaces
from ._tool import AgentTool, checked_name
from ._worker import call_hook


class SchemaTool(AgentTool):
    """A tool whose arguments are described by JSON Schema; see `schema_tool`."""

    def __init__(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Json],
        execute: Callable[[Any, ToolContext], Any],
        *,
        arguments: Any = None,
        check: Callable[[Any], object] | None = None,
        hints: ToolHints | None = None,
        writes: Iterable[StateKey[Any, Any]] | StateKey[Any, Any] = (),
    ) -> None:
        hints = hints or ToolHints()
        self.name = checked_name(name)
        self.description = description
        self.writes = frozenset({writes} if isinstance(writes, StateKey) else writes)
        self.read_only, self.destructive, self.idempotent, self.open_world = (
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        )
        self._parameters: dict[str, Json] = freeze(parameters)
        self._execute = execute
        self._check = check
        self._codec = None if arguments is None else Codec[Any](arguments, what=f"tool '{name}'")

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    @property
    def parameters(self) -> dict[str, Json]:
        return self._parameters

    @property
    def arguments_schema(self) -> dict[str, Json]:
        """The raw schema; with a type that has secrets, the type's, for the raw one has no word for them."""
        typed = None if self._codec is None else self._codec.schema()
        return self._parameters if typed is None or SecretPlaces.of(typed) is None else typed

    def problems(self) -> list[str]:
        return super().problems() + [f"tool '{self.name}': {problem}" for problem in schema_problems(self._parameters)]

    def decode(self, arguments: Json) -> Any:
        """The arguments as the declared type, or as JSON. Raises: InvalidArguments, or what the check raises."""
        if found := violations(self._parameters, arguments):
            raise InvalidArguments(found)
        decoded = freeze(thaw(arguments))  # a copy: what the tool does to it is not in the stored call, nor in a second attempt (D12)
        if self._codec is not None:
            decoded = decode_arguments(self._codec, arguments)
        if self._check is not None:
            refused = self._check(decoded)
            if isinstance(refused, str):
                raise InvalidArguments([refused])
        return decoded

    async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
        made = await call_hook(self._execute, args, context)
        return made if isinstance(made, OUTCOMES) else Success(made)


def schema_tool(
    name: str,
    description: str,
    parameters: Mapping[str, Json],
    execute: Callable[[Any, ToolContext], Any],
    *,
    arguments: Any = None,
    check: Callable[[Any], object] | None = None,
    hints: ToolHints | None = None,
    writes: Iterable[StateKey[Any, Any]] | StateKey[Any, Any] = (),
) -> AgentTool:
    """Make a tool of a JSON Schema and a function of (arguments, context), async or plain.

    With `arguments` the checked JSON is decoded as that type first; `check` may then still refuse it, by raising or by
    returning a text. An object is closed unless its schema says `"additionalProperties": true`. Keywords outside 3.3.5 make
    the agent refuse to be built.

    Raises: ConfigError for a bad name.
    """
    return SchemaTool(name, description, parameters, execute, arguments=arguments, check=check, hints=hints, writes=writes)

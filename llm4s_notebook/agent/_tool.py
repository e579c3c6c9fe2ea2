"""What a tool is to the loop: a spec, a way to read its arguments, and something to execute (3.1)."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from ..errors import ConfigError
from ..graph import StateKey
from ..models import Json, ToolHints, ToolSpec
from ._context import ToolContext
from ._outcome import ToolOutcome

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def name_problems(name: object) -> list[str]:
    """Why this cannot be a tool's name (3.1.1)."""
    if isinstance(name, str) and TOOL_NAME.fullmatch(name):
        return []
    return [f"invalid tool name {name!r}: must match {TOOL_NAME.pattern}"]


class AgentTool(ABC):
    """A tool of an agent. Make one with `@tool`, from `AskingTool`, or with `schema_tool`; or write the three methods."""

    name: str
    description: str = ""
    writes: Iterable[StateKey[Any, Any]] = frozenset()
    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True
    question_type: ClassVar[Any] = None
    """The type of the tool's questions; None for a tool that asks none."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Json]:
        """The JSON Schema of the arguments."""

    @property
    def arguments_schema(self) -> dict[str, Json]:
        """The schema that a form for the arguments is made from; it tells which of them are secret (3.8.1)."""
        return self.parameters

    @abstractmethod
    def decode(self, arguments: Json) -> Any:
        """The arguments as `execute` takes them. Raises: anything; its message goes to the model as the call's result (3.2)."""

    @abstractmethod
    async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
        """Run the call. An exception becomes the call's error result (3.4)."""

    @property
    def hints(self) -> ToolHints:
        """What the tool says of itself (3.1.2)."""
        return ToolHints(self.read_only, self.destructive, self.idempotent, self.open_world)

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is shown it."""
        return ToolSpec(self.name, self.description, self.parameters, self.hints)

    def problems(self) -> list[str]:
        """What keeps this tool out of a tool set; checked when the agent is built (3.1.4)."""
        return name_problems(getattr(self, "name", None))

    def accepts_nothing(self) -> bool:
        """True when the arguments are an object that requires no property, so that null stands for {} (3.3.4)."""
        schema = self.parameters
        return schema.get("type") == "object" and not schema.get("required")


def checked_name(name: str) -> str:
    """Raises: ConfigError for a name no tool may have (3.1.1)."""
    if problems := name_problems(name):
        raise ConfigError(field="tool", problems=problems)
    return name

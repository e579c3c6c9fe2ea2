"""The four kinds of message (1.3.1). Frozen: a stored message is shared by everybody who reads the thread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field

from ._json import Json, compact, freeze

ToolResultOutcome: TypeAlias = Literal["succeeded", "errored", "denied", "rejected"]
"""How a tool call ended, for people: `denied` by a middleware and `rejected` by a reviewer mean that it did not run."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call the model asks for. `arguments` is read-only JSON; `edited` is true once a reviewer has changed them."""

    exact_once_made: ClassVar[bool] = True  # to its __post_init__ a call that is made has nothing left to change (graph/_exact.py)
    id: str
    name: str
    arguments: Json = None
    edited: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", freeze(self.arguments))

    def __str__(self) -> str:
        return f"{self.name} {compact(self.arguments)}"


@dataclass(frozen=True, slots=True)
class SystemMessage:
    """Instructions; sent first in every request, never stored (1.3.4)."""

    content: str
    id: str = ""
    role: Literal["system"] = "system"


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the person wrote."""

    content: str
    id: str = ""
    role: Literal["user"] = "user"


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered: text, tool calls, or both."""

    exact_once_made: ClassVar[bool] = True  # as in ToolCall
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    id: str = ""
    role: Literal["assistant"] = "assistant"

    def __post_init__(self) -> None:
        if type(self.tool_calls) is not tuple:
            object.__setattr__(self, "tool_calls", tuple(self.tool_calls))


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The result of one tool call, as the model is sent it (1.3.6)."""

    content: str
    tool_call_id: str
    is_error: bool = False
    outcome: ToolResultOutcome = "succeeded"
    id: str = ""
    role: Literal["tool"] = "tool"


Message: TypeAlias = Annotated[SystemMessage | UserMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]

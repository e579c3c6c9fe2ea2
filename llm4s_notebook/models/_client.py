"""What the loop asks of a language model: one request in, one completion out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ._json import FrozenDict, Json
from ._message import AssistantMessage, Message
from ._usage import Usage


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What a tool says of itself, with the careful defaults of MCP's annotations (3.1.2). Nothing enforces them."""

    read_only: bool = False
    destructive: bool = True
    idempotent: bool = False
    open_world: bool = True


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is shown it; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Json = field(default_factory=lambda: FrozenDict({"type": "object", "properties": {}}))
    hints: ToolHints = ToolHints()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What one model call is sent: the system message first if there is one, then the conversation, and the tools on offer."""

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()

    def __post_init__(self) -> None:
        if type(self.messages) is not tuple:
            object.__setattr__(self, "messages", tuple(self.messages))
        if type(self.tools) is not tuple:
            object.__setattr__(self, "tools", tuple(self.tools))


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model call gave; `usage` is None where the provider told none (1.5.3).

    `attempts` counts the requests sent for it, those that failed and were sent again included (M4.2).
    """

    message: AssistantMessage
    usage: Usage | None = None
    model: str = "unknown"
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A piece of a call that is still being written: `arguments` continues the JSON text of call number `index` (from 0).

    The first piece of a call carries its `id` and `name`; the later ones repeat them.
    """

    index: int
    id: str
    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a streamed completion; exactly the last one carries the whole `completion`.

    With `again` the request is sent once more: what was streamed before is void (M3.3).
    """

    text: str = ""
    thinking: str = ""
    completion: Completion | None = None
    tool_call: ToolCallDelta | None = None
    again: bool = False


class ChatClient(Protocol):
    """A language model. A failing call raises; an error with a true `recoverable` may succeed when asked again."""

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer the request with one assistant message."""
        ...


@runtime_checkable
class StreamingChatClient(Protocol):
    """A chat client that can also give its completion in pieces."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """Yield text and calls as they come and, last, the whole completion. Closing the iterator ends the request."""
        ...


@runtime_checkable
class ClientWithOptions(Protocol):
    """A chat client with options that a person may change from a form (M1.7). The key is none of them."""

    def option_schema(self) -> dict[str, Json]:
        """The JSON Schema of an object of them, none of them required."""
        ...

    def option_values(self) -> dict[str, Json]:
        """Those that were given."""
        ...

    def with_options(self, **changes: Any) -> ChatClient:
        """The same model with some of them changed; None takes one back to its default.

        Raises: ConfigError; a problem that begins with "<option>: " is shown on that option.
        """
        ...

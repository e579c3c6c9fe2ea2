"""What a suspended turn waits for, one class per kind (2.2.3). The first three are stored as the interrupt's question."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, overload

from ..graph import BreakpointPhase
from ..models import Json, Message, ToolCall, ToolMessage
from ._codec import Codec
from ._decision import GivenAnswer

T = TypeVar("T")


class MiddlewareHook(StrEnum):
    """The hook that asked, spelled as in node ids (1.1.3)."""

    BEFORE_AGENT = "beforeAgent"
    WRAP_MODEL_CALL = "wrapModelCall"
    WRAP_TOOL_CALL = "wrapToolCall"
    AFTER_AGENT = "afterAgent"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A tool call that runs only when approved. `source` is "tool" or the id of the middleware that asked."""

    call: ToolCall
    reason: str
    source: str
    message_id: str = ""
    answers: tuple[GivenAnswer, ...] = ()


def _decoded(question: Json, of: Any) -> Any:
    return Codec[Any](of, what="the question").decode(question)


@dataclass(frozen=True, slots=True)
class ToolQuestionRequest:
    """A question that a tool asks before it goes on. `approved` tells whether the call had been approved when it asked."""

    call: ToolCall
    question: Json
    approved: bool = False
    message_id: str = ""
    answers: tuple[GivenAnswer, ...] = ()

    @overload
    def decode(self, of: type[T]) -> T: ...
    @overload
    def decode(self, of: Any) -> Any: ...
    def decode(self, of: Any) -> Any:
        """The question as the asker's type. Raises: DecodeError (2.2.4)."""
        return _decoded(self.question, of)


@dataclass(frozen=True, slots=True)
class MiddlewareQuestionRequest:
    """A question that a middleware's hook asks, with what is needed to run that hook again.

    `input` (and `history`, on a new thread) belong to `before_agent`; `call`, `approved` and `message_id` to `wrap_tool_call`.
    """

    agent: str
    middleware: str
    hook: MiddlewareHook
    question: Json
    call: ToolCall | None = None
    approved: bool = False
    input: str | None = None
    answers: tuple[GivenAnswer, ...] = ()
    message_id: str = ""
    history: tuple[Message, ...] = ()

    @overload
    def decode(self, of: type[T]) -> T: ...
    @overload
    def decode(self, of: Any) -> Any: ...
    def decode(self, of: Any) -> Any:
        """The question as the asker's type. Raises: DecodeError (2.2.4)."""
        return _decoded(self.question, of)


@dataclass(frozen=True, slots=True)
class BreakpointRequest:
    """A held step. `call` is the call held before it runs, `result` the recorded result of one held after it ran.

    `message` is the stored message a reviewer looks at: the model's, or the answer about to be or just guarded.
    """

    node: str
    phase: BreakpointPhase
    call: ToolCall | None = None
    result: ToolMessage | None = None
    message: Message | None = None

"""The input of a `call-tool` task."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import ToolCall


@dataclass(frozen=True, slots=True)
class CallInput:
    """One tool call and the assistant message that issued it."""

    call: ToolCall
    message_id: str

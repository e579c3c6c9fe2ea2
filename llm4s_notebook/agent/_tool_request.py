"""What a tool wrapper sees of the call it wraps."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import ToolCall, ToolSpec


@dataclass(frozen=True, slots=True)
class ToolCallRequest:
    """A call and the tool's spec, both read-only: what a wrapper does to them changes nothing that runs (D12).

    The call's secret arguments are dots (3.8.2).
    """

    call: ToolCall
    spec: ToolSpec

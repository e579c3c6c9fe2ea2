"""What a tool, or a wrapper around it, makes of a call (3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ..graph import Command

_NOTHING = Command()


@dataclass(frozen=True, slots=True)
class Success:
    """The call succeeded. `content` is anything with a JSON form; `update` may touch keys that the tool or a middleware declares."""

    content: Any = None
    update: Command = _NOTHING


@dataclass(frozen=True, slots=True)
class ToolError:
    """The call failed and the model sees why. A message that starts with "Denied:" says that it was not allowed to run."""

    message: str


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The call waits until a person approves, rejects or edits it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """The call waits until a person answers `question`; made by an asking tool's or middleware's own methods."""

    question: Any


@dataclass(frozen=True, slots=True)
class Fatal:
    """The run fails with `ToolFailed`; `recover` runs this call again."""

    error: BaseException


ToolOutcome: TypeAlias = Success | ToolError | NeedsApproval | Ask | Fatal
OUTCOMES = (Success, ToolError, NeedsApproval, Ask, Fatal)
"""What a value is asked to be one of; a union would be made anew each time."""

DENIED = "Denied:"

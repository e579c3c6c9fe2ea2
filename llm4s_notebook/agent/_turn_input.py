"""The input of the graph: what one turn starts with."""

from __future__ import annotations

from dataclasses import dataclass

from ..models import Message


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The query, and on a new thread the conversation it continues."""

    query: str
    history: tuple[Message, ...] = ()

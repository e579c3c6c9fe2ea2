"""The input of the graph: what one turn starts with, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass

from ..checkpoint import Checkpointer
from ..errors import ConfigError
from ..models import Message, SystemMessage, conversation_problems, is_blank


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The query, and on a new thread the conversation it continues."""

    query: str
    history: tuple[Message, ...] = ()


def check_query(query: object) -> None:
    """Raises: ConfigError for what is no text, or blank."""
    if not isinstance(query, str):
        raise ConfigError(field="query", problems=[f"the query is a {type(query).__name__}, not a text"])
    if is_blank(query):
        raise ConfigError(field="query", problems=["the query is blank"])


async def check_history(history: tuple[Message, ...], thread_id: str | None, checkpointer: Checkpointer) -> None:
    """Raises: ConfigError for what is no conversation a model can be sent, and for a thread that has one already (1.4.1)."""
    problems: list[str] = []
    if any(isinstance(message, SystemMessage) for message in history):
        problems.append("system messages are not imported; prompts belong to agents")
    else:
        problems += conversation_problems(history)
    if thread_id is not None and (await checkpointer.head(thread_id)).checkpoint_id is not None:
        problems.append("history is imported only into a new thread")
    if problems:
        raise ConfigError(field="history", problems=problems)

"""A session's document as it is sent: JSON in which every number is one that a browser holds. Pure."""

from __future__ import annotations

from typing import Any

from ._exact import as_texts, marks_of, to_look_at
from ._session import SessionState


def for_browser(state: SessionState) -> dict[str, Any]:
    """The document as JSON. A call's arguments and an agent's options go into forms and come back; what was said is looked at."""
    document = state.model_dump(mode="json")
    for card in document["pending"]:
        if card["arguments_schema"] is None:  # a call that is only looked at, such as a held one
            card["arguments_schema"] = marks_of(card["arguments"])
        card["arguments"] = as_texts(card["arguments"], card["arguments_schema"])
        card["question"] = to_look_at(card["question"])
    for message in document["messages"]:
        for call in message["tool_calls"]:
            call["arguments"] = to_look_at(call["arguments"])
    for agent in document["editor"]["agents"] if document["editor"] is not None else ():
        agent["values"] = as_texts(agent["values"], agent["form"])
    return document

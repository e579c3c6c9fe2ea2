"""A graph by hand that asks once, for an answer of any type; with it, what it was answered."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend
from llm4s_notebook.review import GraphThread


def asking(answer: Any = int) -> tuple[GraphThread, list[Any]]:
    """The graph, and a list of the answers it got."""
    got: list[Any] = []
    key = StateKey.appending("log", str)
    builder = GraphBuilder("asks", version="1")
    take = builder.declare_resume("take", question=str, answer=answer)

    @builder.node("start", input=str)
    def start(text: str) -> Suspend[Any, Any]:
        return Suspend(f"how many {text}?", take)

    @builder.implement(take, writes=key)
    def answered(resumed: Resumed[str, Any]) -> Command:
        got.append(resumed.answer)
        return Command().update(key, resumed.question)

    return GraphThread(GraphRuntime.in_memory(), builder.compile(start, output=lambda state: list(state[key]))), got

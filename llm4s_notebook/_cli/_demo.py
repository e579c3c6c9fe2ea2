"""Lesson 1's turn in a terminal, with a scripted reviewer. Every word about the turn is read off the turn."""

from __future__ import annotations

import asyncio
import json
import textwrap
from collections.abc import Callable
from pathlib import Path

from ..agent import Agent, AgentNode, AgentResult, Blocked, Completed, InterruptKind, PendingReview
from ..checkpoint import Checkpointer, SqliteCheckpointer
from ..examples.release import QUERY, release_agent, reviewer, script
from ..models import AssistantMessage, Json, ModelRequest, ScriptedClient

MakeAgent = Callable[[ScriptedClient, Checkpointer], Agent]
WIDTH = 120


def demo(db: Path) -> None:
    """Play the turn on the SQLite file ``db``, which is made where missing. Raises: Llm4sError."""
    asyncio.run(play(db.resolve(), _held_after_the_model))


def _held_after_the_model(client: ScriptedClient, store: Checkpointer) -> Agent:
    return release_agent(client, store, interrupt_after=[AgentNode.MODEL])


async def play(db: Path, make_agent: MakeAgent) -> AgentResult:
    """Run one turn to its end, printing what waits, what is answered and what the model saw."""
    client = script()
    async with SqliteCheckpointer(db) as store:
        agent = make_agent(client, store)
        result = await agent.run(QUERY)
        print("A release assistant's turn. It stops for a person several times; here a script answers, in the lesson you do.")
        print(f"The turn lives in {db}, thread {result.thread_id}.\n")
        print(f"asked: {QUERY}")
        while result.pending:
            _print_waiting(result.pending)
            answers = [reviewer(pending) for pending in _next_to_answer(result.pending)]
            for answer in answers:
                print(f"  answered {answer.id}: {_json(answer.value)}")
            result = await agent.resume(result.thread_id, answers)
        _print_end(result)
        _print_requests(client.requests)
    return result


def _next_to_answer(pending: tuple[PendingReview, ...]) -> list[PendingReview]:
    """Everything but the approvals, as long as something else waits: a resume need not answer all (2.4.1)."""
    others = [review for review in pending if review.kind is not InterruptKind.APPROVAL]
    return others or list(pending)


def _print_waiting(pending: tuple[PendingReview, ...]) -> None:
    print(f"\nwaits for a person ({len(pending)}):")
    for review in pending:
        print(_indented(str(review)))


def _print_end(result: AgentResult) -> None:
    match result.status:
        case Completed(answer):
            print(f"\nanswer: {answer}")
        case Blocked(guardrail, reason):
            print(f"\nblocked by {guardrail}: {reason}")
        case other:
            print(f"\nended as {type(other).__name__}")


def _print_requests(requests: list[ModelRequest]) -> None:
    print(f"\nthe model was called {len(requests)} times; the last time it saw:")
    for message in requests[-1].messages if requests else ():
        text = message.content or ""
        if isinstance(message, AssistantMessage):
            text = " ".join([text, *(f"{call.name}({_json(call.arguments)})" for call in message.tool_calls)]).strip()
        role = type(message).__name__.removesuffix("Message").lower()
        print(_indented(f"{role:<10} {text}"))


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _indented(text: str) -> str:
    return "\n".join(
        textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    )

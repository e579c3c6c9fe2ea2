"""An agent for tests of several processes: it notes in a file what its tools really did.

Run as `python -m … <command> <database> <notes>`; its last line of output is JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    ApprovalMiddleware,
    Asked,
    AskingMiddleware,
    AskingTool,
    InterruptKind,
    PendingReview,
    ToolContext,
    ToolOutcome,
    tool,
)
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.graph import Answer, RunContext
from llm4s_notebook.models import ModelRequest, ScriptedClient, ToolCall, calls


class Confirm(BaseModel):
    prompt: str


class Confirmed(BaseModel):
    ok: bool


class Args(BaseModel):
    what: str


class ConfirmTool(AskingTool[Args, Confirm, Confirmed]):
    name = "confirm"

    async def execute(self, args: Args, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt=f"really {args.what}?"))

    async def resume(self, args: Args, question: Confirm, answer: Confirmed, context: ToolContext) -> Any:
        return f"{question.prompt} {answer.ok}"


class Region(AskingMiddleware[str, str]):
    id = "region"

    async def before_agent(self, query: str, context: RunContext) -> str | Asked:
        given = self.answered(context)
        return f"{query} in {given.answer}" if given else self.ask("which region?")


def said(request: ModelRequest) -> object:
    """The script, told by what was sent: calls first, then what their results were."""
    if any(message.role == "tool" for message in request.messages):
        return "; ".join(message.content for message in request.messages if message.role == "tool")
    return calls(
        ToolCall("c1", "deploy", {"what": "v1"}),
        ToolCall("c2", "confirm", {"what": "v1"}),
        ToolCall("c3", "look", {"what": "v1"}),
    )


def agent(store: SqliteCheckpointer, notes: Path, *, slow: bool = False) -> Agent:
    """The same settings in every process, so the same version."""

    def note(text: str) -> None:
        with notes.open("a") as file:
            file.write(text + "\n")

    @tool
    async def deploy(what: str, context: ToolContext) -> str:
        """Deploy."""
        note(f"deploy {what} {context.idempotency_key}")
        if slow:
            print("deploying", flush=True)
            time.sleep(60)  # noqa: ASYNC251 - it waits to be killed
        return f"deployed {what}"

    @tool(read_only=True)
    async def look(what: str) -> str:
        """Look."""
        note(f"look {what}")
        return f"saw {what}"

    return Agent(
        "release",
        ScriptedClient(said, said),
        tools=[deploy, ConfirmTool(), look],
        middleware=[Region(), ApprovalMiddleware(lambda request: "deploys" if request.call.name == "deploy" else None)],
        interrupt_after=[AgentNode.MODEL],
        runtime=store,
    )


def answer(review: PendingReview) -> Answer:
    """How the reviewer of these tests answers."""
    match review.kind:
        case InterruptKind.APPROVAL:
            return review.approve()
        case InterruptKind.QUESTION:
            return review.reply(Confirmed(ok=True))
        case InterruptKind.MIDDLEWARE_QUESTION:
            return review.reply("eu")
        case InterruptKind.BREAKPOINT:
            return review.proceed()


async def main(command: str, database: str, notes: str) -> None:
    """One step of a turn, told as JSON; `killed` says what waits and waits to be killed."""
    async with SqliteCheckpointer(database) as store:
        made = agent(store, Path(notes), slow=command == "slow")
        match command:
            case "run" | "killed":
                result = await made.run("release", thread_id="t")
            case "resume" | "slow":
                result = await made.resume("t", [answer(review) for review in (await made.result("t")).pending])
            case "recover":
                result = await made.recover("t")
            case _:
                result = await made.result("t")
        told = {"pending": [str(review) for review in result.pending], "answer": result.answer, "query": result.query, "pid": os.getpid()}
        print(json.dumps(told), flush=True)
        if command == "killed":
            time.sleep(60)  # noqa: ASYNC251 - it waits to be killed


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

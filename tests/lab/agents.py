"""Cells that make small agents on a file, for the browser tests."""

from __future__ import annotations

# An approval and a question in one message, a middleware question first, a refused answer last, and a tool that takes its time.
AGENT = '''
import asyncio
from datetime import date
from pathlib import Path
from typing import Literal
from pydantic import BaseModel, Field
from llm4s_notebook import *
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import ToolMessage


@tool
async def deploy(
    environment: Literal["staging", "production"], version: str, notes: list[str], context: ToolContext
) -> str | NeedsApproval:
    """Deploy a version."""
    if not context.approved:
        return NeedsApproval(f"{version} reaches customers")
    with Path("ran.txt").open("a") as log:
        log.write(f"deploy {environment} {version}\\n")
    return f"{version} runs in {environment}"


class Topic(BaseModel):
    topic: str


class Window(BaseModel):
    start: str = Field(pattern=r"^\\d\\d:\\d\\d$")
    minutes: int = Field(default=30, ge=5, le=120)


class ChooseWindow(AskingTool[Topic, Topic, Window]):
    name = "choose_window"
    description = "Ask for a time window."

    async def execute(self, args, context):
        return self.ask(args)

    async def resume(self, args, question, answer, context):
        return Success(f"at {answer.start} for {answer.minutes}")


class Region(AskingMiddleware[Topic, Topic]):
    id = "region"

    async def before_agent(self, query, context):
        given = self.answered(context)
        return f"{query} in {given.answer.topic}" if given else self.ask(Topic(topic="region"))


class Slow(AskingMiddleware[Topic, Topic]):
    """Asks per call of `wait`, so that a question of a tool wrapper is pending too."""

    id = "environment"

    async def wrap_tool_call(self, request, context, next):
        if request.call.name != "wait" or self.answered(context):
            return await next()
        return self.ask_about(Topic(topic="which machine?"))


@tool
async def wait(seconds: int) -> str:
    """Take that long."""
    Path("waiting.txt").write_text("yes")
    for _ in range(seconds * 20):
        if Path("enough.txt").exists():
            return "it was enough"
        await asyncio.sleep(0.05)
    return f"waited {seconds} s"


BATCH = calls(
    ToolCall("c1", "deploy", {"environment": "staging", "version": "1.4.0", "notes": ["first", "second"]}),
    ToolCall("c2", "choose_window", {"topic": "when?"}),
    ToolCall("c3", "wait", {"seconds": 600}),
)


def turn(request):
    last = request.messages[-1]
    return "done, guaranteed" if isinstance(last, ToolMessage) else BATCH


def agent(**more):
    return Agent(
        "assistant",
        ScriptedClient(*[turn] * 50),
        tools=[deploy, ChooseWindow(), wait],
        runtime=SqliteCheckpointer("threads.db"),
        **more,
    )
'''

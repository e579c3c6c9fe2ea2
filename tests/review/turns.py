"""Agents whose turns wait, for the tests of this room; each keeps a list of what its tools really did."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from llm4s_notebook.agent import (
    Agent,
    AskingMiddleware,
    AskingTool,
    GuardrailReviewMiddleware,
    NeedsApproval,
    Success,
    ToolContext,
    ToolOutcome,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.graph import RunContext
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import ScriptedClient, ToolCall, calls

from ..waiting import until as until


class Order(BaseModel):
    item: str


class Confirm(BaseModel):
    prompt: str


class Confirmed(BaseModel):
    ok: bool


class Need(BaseModel):
    what: str


class Info(BaseModel):
    value: str


class AskFirst(AskingTool[Order, Confirm, Confirmed]):
    """Asks before it orders."""

    name = "order"
    description = "Order an item."

    def __init__(self, ran: list[str]) -> None:
        self.ran = ran

    async def execute(self, args: Order, context: ToolContext) -> ToolOutcome:
        return self.ask(Confirm(prompt=f"order {args.item}?"))

    async def resume(self, args: Order, question: Confirm, answer: Confirmed, context: ToolContext) -> ToolOutcome:
        self.ran.append(f"order {args.item} {answer.ok}")
        return Success(f"ordered {args.item}: {answer.ok}")


class Region(AskingMiddleware[Need, Info]):
    """Asks for a region that the query does not name."""

    id = "region"

    async def before_agent(self, query: str, context: RunContext) -> Any:
        if "region" in query:
            return query
        given = self.answered(context)
        return f"{query} (region {given.answer.value})" if given else self.ask(Need(what="region"))


@dataclass
class Shop:
    """What the tools did, and doors that hold them up: `slow` runs until its gate is opened."""

    ran: list[str] = field(default_factory=list[str])
    started: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    def tools(self) -> list[Any]:
        ran, started, gate = self.ran, self.started, self.gate

        @tool
        async def deploy(
            environment: Literal["staging", "prod"], version: Annotated[str, Field(min_length=1)], context: ToolContext
        ) -> str | NeedsApproval:
            """Deploy a version."""
            if not context.approved:
                return NeedsApproval(f"{version} would reach {environment}")
            ran.append(f"deploy {environment} {version}")
            return f"{version} runs in {environment}"

        @tool(read_only=True)
        async def look(topic: str) -> str:
            """Look something up."""
            ran.append(f"look {topic}")
            return f"{topic}: fine"

        @tool
        async def slow(name: str) -> str:
            """Take long."""
            ran.append(f"slow {name}")
            started.set()
            await gate.wait()
            return f"{name} done"

        return [deploy, look, slow, AskFirst(ran)]

    def agent(self, *script: Any, store: Checkpointer | None = None, agent_id: str = "assistant", **settings: Any) -> Agent:
        client = script[0] if len(script) == 1 and isinstance(script[0], ScriptedClient) else ScriptedClient(*script)
        return Agent(agent_id, client, tools=self.tools(), runtime=store if store is not None else InMemoryCheckpointer(), **settings)


def deployment(call_id: str = "c1", version: str = "1.0", environment: str = "prod") -> ToolCall:
    return ToolCall(call_id, "deploy", {"environment": environment, "version": version})


SLOW = calls(ToolCall("c1", "slow", {"name": "a"}))


def deployments(*versions: str) -> Any:
    return calls(*(deployment(f"c{at}", version) for at, version in enumerate(versions, 1)))


def guarded() -> GuardrailReviewMiddleware:
    return GuardrailReviewMiddleware(output=[WordList(["guaranteed"], name="no promises")])


def ids(things: Iterable[Any]) -> list[str]:
    return [thing.id for thing in things]

"""Secrets for the tests of agent.md 3.8: what has them, what asks for them, and what everybody may see of a run."""

from __future__ import annotations

import secrets as random_secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, SecretStr, TypeAdapter

from llm4s_notebook.agent import Agent, AgentResult, AskingMiddleware, AskingTool, ToolCallRequest, ToolContext, ToolOutcome, tool
from llm4s_notebook.errors import Llm4sError
from llm4s_notebook.models import AssistantMessage, Message, ToolCall, calls

from .support import client_of

DOTS = "•" * 8
OTHERS = "•" * 9


class Login(BaseModel):
    user: str
    password: SecretStr


@dataclass
class Seen:
    """Everything that may be shown, stored as an event or logged, gathered for a search."""

    texts: list[str] = field(default_factory=list[str])

    def note(self, *things: object) -> None:
        for thing in things:
            self.texts += [repr(thing), str(thing)]

    def result(self, result: AgentResult) -> None:
        self.note(result, result.status, result.messages, result.recorded_results, result.state, result.pending, result.answer)
        self.texts += [result._repr_html_(), *(review.model_dump_json() for review in result.pending)]
        self.texts.append(TypeAdapter(tuple[Message, ...]).dump_json(result.messages).decode())

    def error(self, error: BaseException) -> None:
        self.note(error)
        if isinstance(error, Llm4sError):
            self.texts += error._render_traceback_()
        self.texts += traceback.format_exception(error)

    async def store(self, agent: Agent, thread_id: str = "t") -> None:
        self.note(await agent.runtime.checkpointer.events_after(thread_id, 0), client_of(agent).requests)

    def find(self, text: str) -> list[str]:
        return [one for one in self.texts if text in one]


async def turn(agent: Agent, seen: Seen, step: Callable[[], Any]) -> AgentResult | None:
    """One run, with all it says and all it shows; None where it failed, which is shown too."""
    try:
        run = await step()
        heard = [record async for record in run.events()]
        seen.note(*heard)
        result = await run
    except Exception as error:
        seen.error(error)
        await seen.store(agent)
        return None
    seen.result(result)
    seen.result(await agent.result(result.thread_id))
    await seen.store(agent)
    return result


def filled(template: Any, secret: str) -> Any:
    if isinstance(template, dict):
        return {name: filled(item, secret) for name, item in template.items()}
    if isinstance(template, list):
        return [filled(item, secret) for item in template]
    return secret if template == "{s}" else template


def fresh() -> tuple[str, str]:
    """A secret with everything in it that is written differently in JSON, Python and URLs; and the part to search for."""
    mark = random_secrets.token_hex(8)
    return f"\"{mark}'\\ é\n&{mark}", mark


@tool
async def connect(logins: list[Login], comment: str = "") -> str:
    """Connect."""
    return ", ".join(f"{login.user}" for login in logins)


def connected_into(got: list[Any]) -> Any:
    @tool(name="connect")
    async def made(logins: list[Login], comment: str = "") -> str:
        """Connect."""
        got.append(([(login.user, login.password.get_secret_value()) for login in logins], comment))
        return "ok"

    return made


def two_logins(comment: str = "") -> AssistantMessage:
    logins = [{"user": "ana", "password": "first-secret"}, {"user": "bo", "password": "second-secret"}]
    return calls(ToolCall("c1", "connect", {"logins": logins, "comment": comment}))


class Token(BaseModel):
    value: SecretStr
    note: str = ""


class AskToken(AskingMiddleware[str, Token]):
    """Asks for a token before each call, and notes the one it is given."""

    def __init__(self, id: str, got: list[str]) -> None:
        self.id = id
        self.got = got

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        given = self.answered(context)
        if given is None:
            return self.ask_about("which token?")
        self.got.append(given.answer.value.get_secret_value())
        return await next()


class What(BaseModel):
    what: str


class Leaky(AskingTool[What, str, Token]):
    """Asks for a token, and says what `use` makes of it."""

    name = "leaky"
    description = "Leak."

    def __init__(self, use: Callable[[str], Any]) -> None:
        self._use = use

    async def execute(self, args: What, context: ToolContext) -> Any:
        return self.ask("token?")

    async def resume(self, args: What, question: str, answer: Token, context: ToolContext) -> Any:
        return self._use(answer.value.get_secret_value())

"""The kernel's side of the corpus: real sessions, whose cards a page shows and whose refusals it is told."""

from __future__ import annotations

import asyncio
import threading
import types
import uuid
from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any

from pydantic import BaseModel

from llm4s_notebook import Session
from llm4s_notebook.agent import Agent, AskingMiddleware, AskingTool, NeedsApproval, Success, ToolContext, ToolOutcome
from llm4s_notebook.agent._arguments import decode_arguments
from llm4s_notebook.agent._codec import Codec
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import ScriptedClient, ToolCall, calls

from .case import Case

Json = Any


class Question(BaseModel):
    about: str


def decoded(case: Case, value: Json) -> Any:
    """The value as strictly decoded as a tool's arguments are (D4). Raises: InvalidArguments."""
    return case.takes(decode_arguments(Codec[Any](case.type, what=case.name), value))


def tool_of(case: Case, ran: dict[str, Any] | None = None) -> AskingTool[Any, Any, Any]:
    """A tool whose arguments are the case's model; every call wants approval, and `ran` keeps what it then runs with."""

    async def execute(self: Any, args: Any, context: ToolContext) -> ToolOutcome:
        if not context.approved:
            return NeedsApproval("a person looks first")
        if ran is not None:
            ran[case.name] = case.takes(args)
        return Success("done")

    async def resume(self: Any, args: Any, question: Any, answer: Any, context: ToolContext) -> ToolOutcome:
        return Success("never asked")

    members = {"name": case.name, "description": f"Takes {case.name}.", "execute": execute, "resume": resume}
    base: Any = AskingTool[case.type, Question, str]  # pyright: ignore
    return types.new_class(case.name, (base,), {}, lambda namespace: namespace.update(members))()


def asker_of(case: Case, ran: dict[str, Any] | None = None) -> AskingMiddleware[Any, Any]:
    """A middleware whose answer is the case's type: a type that is no object has no call to be the arguments of."""

    async def before_agent(self: Any, query: str, context: RunContext) -> Any:
        given = self.answered(context)
        if given is None:
            return self.ask(Question(about=case.name))
        if ran is not None:
            ran[case.name] = case.takes(given.answer)
        return query

    members = {"id": case.name, "before_agent": before_agent}
    base: Any = AskingMiddleware[Question, case.type]  # pyright: ignore
    return types.new_class(case.name, (base,), {}, lambda namespace: namespace.update(members))()


class Kernel:
    """One session for all models that can be arguments, and one each for the others; on a loop of its own."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._sessions: dict[str, Session] = {}
        arguments = [case for case in cases if case.is_object]
        batch = calls(*(ToolCall(f"c-{case.name}", case.name, case.sample) for case in arguments))
        agent = Agent("corpus", ScriptedClient(batch), tools=[tool_of(case) for case in arguments])
        self._begin([case.name for case in arguments], agent)
        for case in cases:
            if not case.is_object:
                self._begin([case.name], Agent("corpus", ScriptedClient("done"), middleware=[asker_of(case)]))

    def _begin(self, names: list[str], agent: Agent) -> None:
        async def begin() -> Session:
            session = Session(agent, "corpus")
            await session.run("go")
            return session

        session = asyncio.run_coroutine_threadsafe(begin(), self._loop).result(60)
        self._sessions |= dict.fromkeys(names, session)

    def document(self, name: str) -> dict[str, Json]:
        """The session's document as a browser gets it, with this one card and without what a panel does not draw."""
        state = self._sessions[name].state().model_dump(mode="json")
        state["pending"] = [card for card in state["pending"] if name in (card["tool_name"], card["middleware"])]
        state |= {"messages": [], "graph": state["graph"] | {"nodes": [], "edges": []}}
        return state

    def submit(self, name: str, value: Json) -> dict[str, Json]:
        """The request of a person who sends this value from the card."""
        (card,) = self.document(name)["pending"]
        approval = card["kind"] == "APPROVAL"
        decision = {"decision": "edit", "arguments": value} if approval else {"decision": "reply", "value": value}
        return {"request_id": uuid.uuid4().hex, "body": {"kind": "submit", "decisions": [{"id": card["id"], **decision}]}}

    def handle(self, name: str, request: Json) -> dict[str, Json]:
        """What the session replies to a browser's request."""
        told: Future[Any] = Future()
        self._sessions[name].handle(request, told.set_result)
        return told.result(30).model_dump(mode="json")

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

"""No stored event holds anybody's text (8.1, D22): whatever was said, by whom, and however the turn went."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.agent import (
    Agent,
    AgentNode,
    AskingMiddleware,
    AskingTool,
    Fatal,
    GuardrailMiddleware,
    GuardrailReviewMiddleware,
    GuardrailVerdict,
    Handoff,
    NeedsApproval,
    PendingReview,
    Success,
    ToolContext,
    ToolError,
    tool,
)
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.errors import Refused
from llm4s_notebook.graph import Command, RunBudgets, RunConfig, StateKey
from llm4s_notebook.guardrails import LengthCheck, WordList
from llm4s_notebook.models import AssistantMessage, BreaksOff, ScriptedClient, UserMessage, calls

from .support import Need, Wrap, call, until

MARK = "Zq7mark"


def said(about: str) -> str:
    """Somebody's text, to be found in nothing that is stored as an event."""
    return f"{MARK} {about}"


class Args(BaseModel):
    text: str


@tool
async def work(how: str, context: ToolContext) -> Any:
    """Do as the text says."""
    text = how.removeprefix(f"{MARK} ")
    match text:
        case "asks":
            return said("result") if context.approved else NeedsApproval(said("reason"))
        case "fails":
            return ToolError(said("error"))
        case "raises":
            raise RuntimeError(said("exception"))
        case "fatal":
            return Fatal(RuntimeError(said("fatal")))
        case "value":
            return {"said": said("value")}
        case _:
            return said("result")


class Question(AskingTool[Args, Need, Need]):
    name = "question"

    async def execute(self, args: Args, context: ToolContext) -> Any:
        return self.ask(Need(what=said("question")))

    async def resume(self, args: Args, question: Need, answer: Need, context: ToolContext) -> Any:
        return f"{question.what} {answer.what}"


class AskIn(AskingMiddleware[Need, Need]):
    """Asks once in one hook."""

    id = "asker"

    def __init__(self, hook: str) -> None:
        self.hook = hook

    async def before_agent(self, query: str, context: Any) -> Any:
        return self.ask(Need(what=said("ask"))) if self.hook == "before" and not self.answered(context) else query

    async def after_agent(self, answer: str, context: Any) -> Any:
        return self.ask(Need(what=said("ask"))) if self.hook == "after" and not self.answered(context) else answer

    async def wrap_model_call(self, request: Any, context: Any, next: Any) -> Any:
        return self.ask(Need(what=said("ask"))) if self.hook == "model" and not self.answered(context) else await next(request)

    async def wrap_tool_call(self, request: Any, context: Any, next: Any) -> Any:
        return self.ask_about(Need(what=said("ask"))) if self.hook == "tool" and not self.answered(context) else await next()


async def refuse(*_args: Any) -> Any:
    raise Refused(said("refusal"))


async def breaks(*_args: Any) -> Any:
    raise RuntimeError(said("middleware exception"))


async def denies(*_args: Any) -> Any:
    return ToolError(f"Denied: {said('denial')}")


def answer(review: PendingReview, choice: int) -> Any:
    """One of the answers that the kind takes, with the reviewer's own text in it."""
    match review.kind.name:
        case "APPROVAL":
            return [review.approve(), review.reject(said("reject")), review.edit({"how": said("edited")})][choice % 3]
        case "BREAKPOINT":
            return review.proceed()
        case _ if "verdict" in str(review.answer_schema):
            return review.reply([GuardrailVerdict.allow(), GuardrailVerdict.edit(said("edit")), GuardrailVerdict.block()][choice % 3])
        case _:
            return review.reply(Need(what=said("reply")))


def doing(*texts: str) -> AssistantMessage:
    return calls(*(call(f"c{at}", "work", how=said(text)) for at, text in enumerate(texts)), text=said("thinking aloud"))


TURNS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": lambda: {"script": [said("answer")]},
    "streamed": lambda: {"script": [said("answer")], "stream": True},
    "every outcome": lambda: {"script": [doing("ok", "fails", "raises", "value"), said("answer")]},
    "unknown and invalid calls": lambda: {
        "script": [calls(call("c1", said("name")), call("c2", "work", wrong=said("argument"))), said("answer")]
    },
    "approvals": lambda: {"script": [doing("asks", "asks", "asks"), said("answer")]},
    "a tool's question": lambda: {"script": [calls(call("c1", "question", text=said("argument"))), said("answer")]},
    "denied": lambda: {"script": [doing("ok"), said("answer")], "middleware": Wrap("w", tool=denies)},
    "asked before": lambda: {"script": [said("answer")], "middleware": AskIn("before")},
    "asked at the model": lambda: {"script": [said("answer")], "middleware": AskIn("model")},
    "asked at a call": lambda: {"script": [doing("ok"), said("answer")], "middleware": AskIn("tool")},
    "asked after": lambda: {"script": [said("answer")], "middleware": AskIn("after")},
    "held everywhere": lambda: {
        "script": [doing("ok"), said("answer")],
        "interrupt_before": list(AgentNode),
        "interrupt_after": list(AgentNode),
    },
    "query blocked": lambda: {"script": [], "middleware": GuardrailMiddleware(input=[WordList([MARK])])},
    "answer blocked": lambda: {"script": [said("answer")], "middleware": GuardrailMiddleware(output=[WordList([MARK])])},
    "answer reviewed": lambda: {"script": [said("a long answer")], "middleware": GuardrailReviewMiddleware(output=[LengthCheck(max=9)])},
    "refused before": lambda: {"script": [], "middleware": Wrap("w", before=refuse)},
    "refused after": lambda: {"script": [said("answer")], "middleware": Wrap("w", after=refuse)},
    "refused at the model": lambda: {"script": [], "middleware": Wrap("w", model=refuse)},
    "refused at a call": lambda: {"script": [doing("ok")], "middleware": Wrap("w", tool=refuse)},
    "broken before": lambda: {"script": [], "middleware": Wrap("w", before=breaks)},
    "broken after": lambda: {"script": [said("answer")], "middleware": Wrap("w", after=breaks)},
    "broken at the model": lambda: {"script": [], "middleware": Wrap("w", model=breaks)},
    "broken at a call": lambda: {"script": [doing("ok")], "middleware": Wrap("w", tool=breaks)},
    "a tool fails the run": lambda: {"script": [doing("ok", "fatal")]},
    "the model fails": lambda: {"script": [OSError(said("trouble"))]},
    "the stream breaks off": lambda: {"script": [BreaksOff(said("half"), 2, OSError(said("trouble")))], "stream": True},
    "a message that cannot be stored": lambda: {"script": [calls(call(said("id"), "work"), call(said("id"), "work"))]},
    "step limit": lambda: {"script": [doing("ok"), doing("ok")], "max_steps": 1},
    "handed over": lambda: {
        "script": [calls(call("h1", "handoff_to_helper", reason=said("handoff")))],
        "handoffs": Handoff(Agent("helper", ScriptedClient(said("answer")))),
    },
    "a mixed batch": lambda: {
        "script": [calls(call("h1", "handoff_to_helper", reason=said("handoff")), call("c1", said("name"))), said("answer")],
        "handoffs": Handoff(Agent("helper", ScriptedClient())),
    },
    "a budget used up": lambda: {"script": [doing("ok"), said("answer")], "config": RunConfig(budgets=RunBudgets(max_supersteps=2))},
}


@pytest.fixture(params=["memory", "sqlite"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A store that keeps its file for the search."""
    made: Checkpointer = InMemoryCheckpointer() if request.param == "memory" else SqliteCheckpointer(tmp_path / "threads.db")
    yield made
    await made.aclose()


@pytest.mark.parametrize("choice", range(3))
@pytest.mark.parametrize("kind", list(TURNS))
async def test_no_durable_event_holds_a_text(kind: str, choice: int, kept: Checkpointer) -> None:
    """8.1, D22: neither model's, tool's, middleware's, guardrail's, reviewer's nor user's; nor that of any error."""
    settings = TURNS[kind]()
    config = settings.pop("config", RunConfig())
    agent = Agent(
        "assistant",
        ScriptedClient(*settings.pop("script"), chunk_size=4),
        system_prompt=said("prompt"),
        tools=[work, Question()],
        runtime=kept,
        **settings,
    )
    raised: list[BaseException] = []

    async def step(run: Any) -> Any:
        try:
            return await run
        except Exception as error:
            raised.append(error)
            return None

    history = [UserMessage(said("old question")), AssistantMessage(said("old answer"))]
    result = await step(agent.run(said("query"), thread_id="t", history=history, config=config))
    for _ in range(12):
        if result is None or not result.pending:
            break
        result = await step(agent.resume("t", [answer(review, choice + at) for at, review in enumerate(result.pending)], config))
    if raised:
        await step(agent.recover("t"))
        await step(agent.abandon("t"))
    events = await kept.events_after("t", 0)
    assert len(events) >= 3
    assert [event for event in events if MARK in repr(event)] == []
    assert (kind in WITHOUT_ERROR) == (not raised)


WITHOUT_ERROR = {
    "plain", "streamed", "every outcome", "unknown and invalid calls", "approvals", "a tool's question", "denied", "asked before",
    "asked at the model", "asked at a call", "asked after", "held everywhere", "query blocked", "answer blocked", "answer reviewed",
    "step limit", "handed over", "a mixed batch",
}  # fmt: skip


async def test_cancelled_and_timed_out_turns_tell_no_text(kept: Checkpointer) -> None:
    """8.1, 8.2, D22."""
    started = asyncio.Event()

    @tool
    async def slow(text: str) -> str:
        """Take long."""
        started.set()
        await asyncio.sleep(60)
        return text

    agent = Agent("assistant", ScriptedClient(*[calls(call("c1", "slow", text=said("argument")))] * 2), tools=slow, runtime=kept)
    run = await agent.start(said("query"), thread_id="t")
    await until(started.is_set)
    run.cancel()
    with pytest.raises(Exception, match="cancelled"):
        await run
    with pytest.raises(Exception, match="timeout"):
        await agent.recover("t", RunConfig(budgets=RunBudgets(timeout=0.05)))
    events = await kept.events_after("t", 0)
    assert {type(event.event).__name__ for event in events} >= {"RunCancelled", "RunTimedOut"}
    assert [event for event in events if MARK in repr(event)] == []


async def test_a_key_whose_reducer_refuses_tells_no_text(kept: Checkpointer) -> None:
    """R3.21, D22."""

    def reduce(_now: str, _update: str) -> str:
        raise ValueError(said("reducer"))

    key = StateKey("notes", str, str, initial="", reduce=reduce)

    @tool(writes=key)
    async def write(text: str) -> Any:
        """Write."""
        return Success(text, Command().update(key, text))

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "write", text=said("argument")))), tools=write, runtime=kept)
    with pytest.raises(Exception, match="notes"):
        await agent.run(said("query"), thread_id="t")
    assert [event for event in await kept.events_after("t", 0) if MARK in repr(event)] == []


async def test_the_search_finds_what_a_tool_emits_itself(kept: Checkpointer) -> None:
    """The search can fail: an event of the user's own is theirs."""

    @tool
    async def tell(text: str, context: ToolContext) -> str:
        """Tell."""
        context.run.emit("mine", text)
        return "ok"

    agent = Agent("assistant", ScriptedClient(calls(call("c1", "tell", text=said("argument"))), "done"), tools=tell, runtime=kept)
    await agent.run("go", thread_id="t")
    assert len([event for event in await kept.events_after("t", 0) if MARK in repr(event)]) == 1


def cells_of(path: Path, *, events: bool) -> Iterator[Any]:
    """What every column of events holds in every row, or every other one."""
    with sqlite3.connect(path) as database:
        for (table,) in database.execute("select name from sqlite_master where type = 'table'").fetchall():
            rows = database.execute(f"select * from {table}")
            wanted = [at for at, (name, *_) in enumerate(rows.description) if ("event" in f"{table}.{name}") == events]
            yield from (row[at] for row in rows for at in wanted if isinstance(row[at], str | bytes))


async def test_the_events_of_a_file_hold_no_text_and_its_checkpoints_do(tmp_path: Path) -> None:
    """8.1: as written, not only as read."""
    path = tmp_path / "threads.db"
    async with SqliteCheckpointer(path) as store:
        agent = Agent("assistant", ScriptedClient(doing("ok", "raises", "asks"), said("answer")), tools=work, runtime=store)
        result = await agent.run(said("query"), thread_id="t")
        await agent.resume("t", [review.reject(said("reject")) for review in result.pending])
    told = list(cells_of(path, events=True))
    assert len(told) > 3
    assert [one for one in told if MARK in repr(one)] == []
    assert MARK in repr(list(cells_of(path, events=False)))

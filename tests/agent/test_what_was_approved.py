"""What a person approved is what runs, under one key, whatever middleware, edits, deaths and forks come in between (D12, D13)."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from llm4s_notebook.agent import (
    Agent,
    AgentMiddleware,
    AgentNode,
    AskingMiddleware,
    AskingTool,
    InterruptKind,
    NeedsApproval,
    PendingReview,
    ToolCallRequest,
    ToolContext,
    ToolError,
    ToolOutcome,
    schema_tool,
    tool,
)
from llm4s_notebook.agent import _call as call_module
from llm4s_notebook.agent import _edit as editing
from llm4s_notebook.agent import _tool_chain as chain
from llm4s_notebook.agent._messages import MESSAGES, EditCall
from llm4s_notebook.checkpoint import CheckpointStatus
from llm4s_notebook.graph import Answer, Command, GraphRuntime
from llm4s_notebook.models import AssistantMessage, Completion, ModelRequest, ToolCall, calls, compact
from llm4s_notebook.testing import ManualClock

from .mortal import Died, MortalStore, unless_it_dies
from .support import policy

TOOLS = ("act", "raw", "asks")
EVIL: dict[str, Any] = {"data": ["evil"]}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5)
data = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=6
)


@dataclass(frozen=True)
class Case:
    """`given` is what the model wants done with each tool, `edits` what a reviewer makes of it (None: approves as it stands)."""

    given: tuple[Any, ...]
    edits: tuple[Any, ...]
    stack: tuple[str, ...]
    deaths: tuple[int, ...]
    fork_at: int
    meddling: bool
    held: bool


@st.composite
def cases(draw: st.DrawFn) -> Case:
    return Case(
        tuple(draw(st.lists(data, min_size=3, max_size=3))),
        tuple(draw(st.lists(st.none() | st.builds(lambda made: {"data": made}, data), min_size=3, max_size=3))),
        tuple(
            draw(st.permutations(["policy", *draw(st.sets(st.sampled_from(sorted({*MIDDLEWARE} - {"policy"})), min_size=2, max_size=4))]))
        ),
        tuple(draw(st.lists(st.integers(1, 10), max_size=2))),
        draw(st.integers(0, 6)),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@dataclass
class Ran:
    """One execution that did something: in which thread, which call, with what, and under which key."""

    thread: str
    call_id: str
    arguments: str
    key: str


@dataclass
class World:
    """What was done, and what a person has let through: call id -> its arguments as they were shown or typed."""

    ran: list[Ran] = field(default_factory=list[Ran])
    approved: dict[str, str] = field(default_factory=dict[str, str])

    def does(self, context: ToolContext, made: Any) -> None:
        assert context.approved
        self.ran.append(Ran(context.run.thread_id, context.call_id, compact({"data": made}), context.idempotency_key))


# -- middleware that tries -------------------------------------------------------------------------------------------


async def assigning(request: ToolCallRequest, _context: Any, next: Any) -> Any:
    """Writes into the call it is shown."""
    with suppress(TypeError):
        request.call.arguments["data"] = "evil"
    return await next()


async def replacing(request: ToolCallRequest, _context: Any, next: Any) -> Any:
    """Makes a request of its own."""
    replace(request, call=ToolCall(request.call.id, request.call.name, EVIL))
    return await next()


async def forcing(request: ToolCallRequest, _context: Any, next: Any) -> Any:
    """Goes around everything that keeps Python's objects as they are."""
    dict.__setitem__(request.call.arguments, "data", "evil")
    object.__setattr__(request.call, "arguments", EVIL)
    object.__setattr__(request, "call", ToolCall(request.call.id, "other", EVIL))
    return await next()


async def sorting(request: ToolCallRequest, _context: Any, next: Any) -> Any:
    """Changes a list in place by accident: the C code of heapq asks no list whether it may."""
    _spoil(request.call.arguments["data"])
    return await next()


def _spoil(made: Any) -> None:
    if isinstance(made, list):
        with suppress(TypeError):  # not every two things can be compared; it is in the list by then
            heapq.heappush(made, "spoiled")


async def retrying(_request: Any, _context: Any, next: Any) -> Any:
    """Runs the tool again, whatever came of it."""
    outcome = await next()
    return outcome if isinstance(outcome, NeedsApproval) else await next()


async def insisting(_request: Any, _context: Any, next: Any) -> Any:
    """Tries again what failed."""
    for _ in range(3):
        outcome = await next()
        if not isinstance(outcome, ToolError):
            break
    return outcome


class Wrapping(AgentMiddleware):
    def __init__(self, id: str, wrap: Callable[..., Any]) -> None:
        self.id = id
        self._wrap = wrap

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        return await self._wrap(request, context, next)


class Asking(AskingMiddleware[str, str]):
    """Asks about each call, and again once it was approved."""

    id = "asking"

    async def wrap_tool_call(self, request: ToolCallRequest, context: ToolContext, next: Any) -> ToolOutcome:
        wanted = 2 if context.approved else 1
        return await next() if len(list(self.all_answered(context))) >= wanted else self.ask_about(f"approved: {context.approved}")


MIDDLEWARE: dict[str, Callable[[], AgentMiddleware]] = {
    **{
        wrap.__name__: lambda wrap=wrap: Wrapping(wrap.__name__, wrap)
        for wrap in (assigning, replacing, forcing, sorting, retrying, insisting)
    },
    "asking": Asking,
    "policy": lambda: policy(*TOOLS),
}


# -- the agent -------------------------------------------------------------------------------------------------------


class Asks(AskingTool[dict[str, Any], str, str]):
    """Goes on after a question of its own, and fails once so that it is tried again."""

    name = "asks"

    def __init__(self, world: World) -> None:
        self._world = world

    async def execute(self, args: dict[str, Any], context: ToolContext) -> ToolOutcome:
        args["more"] = 1
        return self.ask("sure?")

    async def resume(self, args: dict[str, Any], question: str, answer: str, context: ToolContext) -> ToolOutcome:
        self._world.does(context, args.pop("data"))
        return ToolError("again")


def agent_of(case: Case, store: MortalStore, world: World) -> Agent:
    """Two messages with the same three calls each, under other ids."""

    @tool
    async def act(data: Any, context: ToolContext) -> Any:
        """Does it and spoils what it was given."""
        world.does(context, data)
        _spoil(data)
        return ToolError("again")

    def run_raw(arguments: Any, context: ToolContext) -> str:
        world.does(context, arguments["data"])
        _spoil(arguments["data"])
        return "done"

    raw = schema_tool("raw", "Takes anything.", {"type": "object", "additionalProperties": True}, run_raw)

    class Model:
        async def complete(self, request: ModelRequest) -> Completion:
            at = sum(isinstance(message, AssistantMessage) for message in request.messages)
            if at == 2:
                return Completion(AssistantMessage("done"))
            named = zip(TOOLS, case.given, strict=True)
            return Completion(calls(*(ToolCall(f"{name}{at}", name, {"data": made}) for name, made in named)))

    return Agent(
        "assistant",
        Model(),
        tools=[act, raw, Asks(world)],
        middleware=[MIDDLEWARE[name]() for name in case.stack],
        interrupt_before=[AgentNode.TOOL] if case.held else [],
        runtime=GraphRuntime(store),
    )


def answer(case: Case, review: PendingReview, world: World) -> Answer:
    """Approves or edits; notes what was seen."""
    match review.kind:
        case InterruptKind.APPROVAL:
            assert review.call_id is not None
            edit = case.edits[TOOLS.index(review.call_id[:-1])]
            world.approved[review.call_id] = compact(review.arguments if edit is None else edit)
            return review.approve() if edit is None else review.edit(edit)
        case InterruptKind.BREAKPOINT:
            return review.proceed()
        case _:
            return review.reply("yes")


async def lived(case: Case) -> World:
    """The turn to its end, and that of a fork made on the way; processes die, and somebody edits the history behind the call's back."""
    world = World()
    lives: list[int | None] = [*case.deaths, None]
    clock = ManualClock()
    store = MortalStore(clock, lives.pop(0))
    agent = agent_of(case, store, world)
    steps = 0
    threads = ["t"]
    while threads:
        thread = threads[-1]
        try:
            over = await unless_it_dies(store, _step(case, agent, thread, world))
        except Died:
            store = store.heir(clock, lives.pop(0))
            agent = agent_of(case, store, world)
            continue
        if over:
            threads.pop()
        elif steps == case.fork_at and thread == "t":
            head = (await store.head("t")).checkpoint_id
            assert head is not None
            await agent.runtime.fork("t", head, "u")
            threads.append("u")
        steps += 1
        assert steps < 100, "the turn asks on and on"
    return world


async def _step(case: Case, agent: Agent, thread: str, world: World) -> bool:
    head = await agent.runtime.checkpointer.head(thread)
    match head.status:
        case None:
            await agent.run("go", thread_id=thread)
        case CheckpointStatus.RUNNING:
            await agent.recover(thread)
        case CheckpointStatus.SUSPENDED:
            if case.meddling:
                await _meddle(agent, thread, head.checkpoint_id or "")
            pending = (await agent.result(thread)).pending
            await agent.resume(thread, [answer(case, review, world) for review in pending[: 1 + len(pending) // 2]])
        case _:
            return True
    return False


async def _meddle(agent: Agent, thread: str, checkpoint_id: str) -> None:
    """Puts other arguments into the stored message of the calls that wait."""
    message = (await agent.result(thread)).messages[-1]
    assert isinstance(message, AssistantMessage)
    command = Command()
    for call in message.tool_calls:
        command = command.update(MESSAGES, EditCall(message.id, call.id, EVIL))
    await agent.runtime.update_state(thread, agent.graph, checkpoint_id, command)


def check(case: Case) -> None:
    """D12: the arguments are those that were let through. D13: one key for a call, another for every other."""
    world = asyncio.run(lived(case))
    for ran in world.ran:
        assert ran.arguments == world.approved[ran.call_id], ran
    keys: dict[tuple[str, str], set[str]] = {}
    for ran in world.ran:
        keys.setdefault((ran.thread, ran.call_id), set()).add(ran.key)
    assert all(len(one) == 1 for one in keys.values())
    assert len(set().union(*keys.values())) == len(keys)
    assert {(thread, call_id) for thread, call_id in keys if thread == "t"} == {
        ("t", f"{name}{at}") for name in ("act", "raw", "asks") for at in (0, 1)
    }


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_call_runs_with_the_arguments_a_person_let_through_and_under_one_key(case: Case) -> None:
    """D12, D13, 3.5.3, 3.7.4."""
    check(case)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "wrappers are shown the call that runs": (chain, "_copy_of", lambda call: call),
    "an edit is recorded and the old call runs": (editing, "edited", lambda call, _arguments: call),
    "a key of its own for every attempt": (call_module, "idempotency_key", lambda *_: uuid4().hex),
    "one key for the calls of a message": (call_module, "idempotency_key", lambda birth, message, _call: f"{birth} {message}"),
    "one key for a thread and its fork": (call_module, "idempotency_key", lambda _birth, message, call: f"{message} {call}"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property can fail."""
    monkeypatch.setattr(*FAULTS[fault])

    @settings(max_examples=200, deadline=None, database=None, phases=[Phase.generate], report_multiple_bugs=False)
    @seed(20)
    @given(case=cases())
    def look(case: Case) -> None:
        check(case)

    with pytest.raises(AssertionError):
        look()

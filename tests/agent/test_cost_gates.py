"""What an agent's turn costs, counted: calls, commits, rows and bytes, whatever the thread's length (performance.md W3, W4, D17, D18)."""

from __future__ import annotations

import asyncio
import cProfile
import gc
import json
import pstats
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.agent._messages import MESSAGES, TOOL_RESULTS, AppendMessages, RecordedResult
from llm4s_notebook.agent._turn import ACTIVE_AGENT, TURN, USAGE, Outcome, Transfer, Turn, UsageEntry
from llm4s_notebook.agent._turn_input import TurnInput
from llm4s_notebook.checkpoint import Append, Commit, EventRecord, InMemoryCheckpointer, Replace, Set, SqliteCheckpointer
from llm4s_notebook.checkpoint._event import event_to_json
from llm4s_notebook.graph import RunConfig, RunContext
from llm4s_notebook.graph._codec import Codec, _cached_adapter
from llm4s_notebook.graph._exact import FROZEN
from llm4s_notebook.models import AssistantMessage, ScriptedClient, ToolMessage, Usage, UsageSummary, UserMessage, calls

from .support import ConfirmTool, Environment, Gate, Region, Wrap, call, echo

MOST_CALLS = 1_230
"""Below the goal of performance.md, which is 1,500 (D18). It may only be lowered."""

Cost = tuple[int, int, int, int, int]


class CountingStore(InMemoryCheckpointer):
    """Notes every commit."""

    def __init__(self) -> None:
        super().__init__()
        self.commits: list[Commit] = []

    async def claim_and_commit(self, thread_id: str, holder: str, ttl: float, commit: Commit) -> Any:
        self.commits.append(commit)
        return await super().claim_and_commit(thread_id, holder, ttl, commit)

    async def commit(self, thread_id: str, commit: Commit) -> tuple[EventRecord, ...]:
        self.commits.append(commit)
        return await super().commit(thread_id, commit)


def answers(turns: int) -> list[Any]:
    """For each turn one call of a tool and an answer, of the same length each."""
    return [one for turn in range(turns) for one in (calls(call(f"c{turn:04}", "echo", text="x" * 200)), "y" * 200)]


def cost(commits: list[Commit]) -> Cost:
    """Commits, checkpoints, operations, bytes handed to the store, events."""
    drafts = [draft for commit in commits for draft in commit.checkpoints]
    size = sum(len(draft.header.body) + len(draft.header.journal) for draft in drafts)
    for draft in drafts:
        for op in draft.patch:
            match op:
                case Set():
                    size += len(op.value)
                case Append():
                    size += sum(map(len, op.items))
                case Replace():
                    size += len(op.item)
                case _:
                    pass
    size += sum(len(write.body) for commit in commits for write in commit.writes)
    size += sum(len(_timeless(event_to_json(event.event))) for commit in commits for event in commit.events)
    operations = sum(len(draft.patch) for draft in drafts)
    return len(commits), len(drafts), operations, size, sum(len(commit.events) for commit in commits)


def _timeless(event: dict[str, Any]) -> str:
    """An event's text with every measured time as zero."""
    return json.dumps(json.loads(json.dumps(event), parse_float=lambda _: 0))


def number(turn: int) -> str:
    """A run id of the same length for each turn."""
    return f"run-{turn:06}"


async def test_a_turn_costs_the_same_at_any_length_of_the_thread() -> None:
    """D17, W4: commits, checkpoints, operations, bytes and events of each turn; asserted exactly between turns whose numbers - which
    are in ids - have as many digits."""
    store = CountingStore()
    agent = Agent("assistant", ScriptedClient(*answers(240)), tools=echo, runtime=store)
    found: dict[int, Cost] = {}
    for turn in range(1, 241):
        before = len(store.commits)
        await agent.run("z" * 200, thread_id="t", config=RunConfig(run_id=number(turn)))
        found[turn] = cost(store.commits[before:])
    # six supersteps and eight checkpoints a turn: from turn 55 to 120 all that is counted has three digits, from 175 on four
    same = {found[turn] for turn in range(55, 120)}
    assert len(same) == 1, same
    later = {found[turn] for turn in range(175, 241)}
    assert len(later) == 1, later
    (usual,), (last,) = same, later
    assert usual[:3] == last[:3] == (*found[2][:3],)
    assert usual[4] == last[4] == found[2][4]
    assert 0 <= last[3] - usual[3] <= 60  # a digit more in each of the ids
    assert usual[0] <= 4


def _counters(connection: sqlite3.Connection) -> int:
    return connection.total_changes


async def test_a_turn_changes_as_many_rows_at_any_length_of_the_thread(tmp_path: Path) -> None:
    """D17, W4: rows written by the database itself for turn 3 and turn 60, whatever its tables are."""
    rows: list[int] = []
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as store:
        agent = Agent("assistant", ScriptedClient(*answers(60)), tools=echo, runtime=store)
        for turn in range(1, 61):
            before = store._writer.call_now(_counters)
            await agent.run("z" * 200, thread_id="t", config=RunConfig(run_id=number(turn)))
            rows.append(store._writer.call_now(_counters) - before)
    assert len(set(rows[1:])) == 1, rows


def test_a_turn_with_a_tool_makes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """performance.md W3: a turn with one tool call, in memory, makes at most MOST_CALLS function calls and four commits.

    How often the loop goes round while a worker thread wakes up depends on the machine, so the cheapest of four batches counts; so
    does how often a run takes a breath, and here it takes none.
    """
    monkeypatch.setattr("llm4s_notebook.graph._run._BREATH_SECONDS", 1e9)
    store = CountingStore()
    agent = Agent("assistant", ScriptedClient(*answers(41)), tools=echo, runtime=store)

    async def batch() -> float:
        before = len(store.commits)
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(10):
            await agent.run("go", thread_id="t")
        profile.disable()
        assert len(store.commits) - before <= 4 * 10
        return pstats.Stats(profile).total_calls / 10  # type: ignore[attr-defined]  # set by its constructor

    async def work() -> list[float]:
        await agent.run("warm", thread_id="t")
        return [await batch() for _ in range(4)]

    assert min(asyncio.run(work())) <= MOST_CALLS


@pytest.mark.parametrize("on_file", [False, True])
async def test_a_turn_leaves_nothing_that_only_the_garbage_collector_frees(on_file: bool, tmp_path: Path) -> None:
    """performance.md 5: what a turn was made of is free as soon as its result is there; a collection costs more than twenty turns."""
    store = SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") if on_file else InMemoryCheckpointer()
    async with store:
        agent = Agent("assistant", ScriptedClient(*answers(32)), tools=echo, runtime=store)
        await agent.run("warm", thread_id="t")
        await agent.run("warm", thread_id="u")
        gc.collect()
        gc.disable()
        left: list[int] = []
        try:
            for _ in range(3):  # what an earlier test has left, such as a closed loop's connections, is found once
                for turn in range(10):
                    await agent.run("go", thread_id=f"t{turn % 4}")
                left.append(gc.collect())
            assert min(left) == 0
        finally:
            gc.enable()


def test_what_the_loop_keeps_is_written_and_not_read_back() -> None:
    """D17: a class of the loop that is no longer exact (graph/_exact.py) would cost each turn twice its JSON."""
    said = AssistantMessage("done", id="a")
    result = ToolMessage("x", "c1", id="t")
    turn = Turn("go", "u", 1, "assistant", Transfer("a", "b", "m"), Outcome("completed", "done"))
    kept: list[tuple[Any, Any]] = [
        *((MESSAGES.item, message) for message in (UserMessage("go", "u"), said, result)),
        (MESSAGES.update_codec, AppendMessages((UserMessage("go", "u"), said, result))),
        (TOOL_RESULTS.item, RecordedResult("a", "1.0", result)),
        (USAGE.update_codec, UsageEntry("scripted", Usage(1, 2))),
        (TURN.codec, turn),
        (ACTIVE_AGENT.codec, "assistant"),
        (Codec(TurnInput), TurnInput("go", (said,))),
    ]
    asking = AssistantMessage(None, (call("c1", "echo", text="x"),), "a")
    reduced: list[tuple[Any, Any]] = [(MESSAGES.item, asking), (USAGE.codec, UsageSummary().adding("scripted", Usage(1, 2)))]
    for codec, value in reduced:
        assert codec.settle(value)[1] is not value
        assert codec.settle(value, kept=FROZEN)[1] is value
    for codec, value in kept:
        assert codec.settle(value)[1] is value


def test_an_agent_that_is_built_again_has_pydantic_read_no_type_again() -> None:
    """A cell that is run again, and each agent with the same askers, costs what is its own; a type read costs milliseconds."""

    def build() -> None:
        _ = Agent("assistant", ScriptedClient(), tools=[echo, ConfirmTool()], middleware=[Region(), Environment(), Gate()]).graph

    build()
    before = _cached_adapter.cache_info().misses
    build()
    assert _cached_adapter.cache_info().misses == before


async def test_an_answer_that_no_hook_changed_is_not_written_again() -> None:
    """4.1.5, D17: the closing commit has nothing to say of the messages; of a changed answer it has one replacement."""

    def hook(added: str) -> Wrap:
        async def after(answer: str, _context: RunContext) -> str:
            return answer + added

        return Wrap("hook", after=after)

    for added, wanted in (("", []), ("!", [Replace])):
        store = CountingStore()
        agent = Agent("assistant", ScriptedClient("done"), middleware=hook(added), runtime=store)
        assert (await agent.run("go", thread_id="t")).answer == "done" + added
        closing = [op for draft in store.commits[-1].checkpoints for op in draft.patch]
        assert [type(op) for op in closing if (op.section, op.name) == ("state", "messages")] == wanted

"""However a person's decisions come in, and whatever process takes them, a turn ends as if all had been given at once (2.4, 4.5, 8.10)."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from llm4s_notebook.agent import AgentNode
from llm4s_notebook.agent import _call as call_module
from llm4s_notebook.agent import _compile as compiled
from llm4s_notebook.agent._call import CallWork
from llm4s_notebook.agent._messages import MESSAGES, TOOL_RESULTS, AppendMessages
from llm4s_notebook.checkpoint import InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.graph import Command
from llm4s_notebook.testing import ManualClock

from .dying import Server, WrittenNotes, server
from .mortal import Died, MortalStore, unless_it_dies
from .plays import CALLS, HOOKS, THREAD, Choose, Ending, Layer, Notes, Play, Some, agent_of, all_at_once, ending, step

# -- what is drawn ---------------------------------------------------------------------------------------------------


@st.composite
def stacks(draw: st.DrawFn) -> tuple[Layer, ...]:
    """At least two askers, no two of them at the same hooks, among middleware that changes what it sees; in any order."""
    hooks = draw(st.lists(st.sampled_from(HOOKS), min_size=2, max_size=3, unique=True))
    more = draw(st.lists(st.sampled_from(HOOKS), max_size=1))
    askers = [
        Layer(
            "asker", f"asker{at}", (hook, *(one for one in more if at == 0 and one != hook)), draw(st.booleans()), draw(st.integers(1, 2))
        )
        for at, hook in enumerate(hooks)
    ]
    others = [Layer(kind, kind) for kind in draw(st.sets(st.sampled_from(["policy", "review", "mark", "retry"]), max_size=3))]
    return tuple(draw(st.permutations([*askers, *others])))


@st.composite
def plays(draw: st.DrawFn) -> Play:
    """Three to five calls in one to three messages."""
    kinds = draw(st.lists(st.sampled_from([*CALLS, "gated", "confirm"]), min_size=3, max_size=5))
    cuts = sorted(draw(st.sets(st.integers(1, len(kinds) - 1), max_size=2)))
    rounds = tuple(tuple(kinds[start:end]) for start, end in zip([0, *cuts], [*cuts, len(kinds)], strict=True))
    held = st.sampled_from([(), (), (), (AgentNode.TOOL,), (AgentNode.MODEL,), (AgentNode.TOOL, AgentNode.FINISH)])
    return Play(
        rounds,
        draw(stacks()),
        draw(st.integers(0, 2**16)),
        draw(held),
        draw(held),
        draw(st.none() | st.integers(0, len(rounds))),
        draw(st.booleans()),
    )


# -- how it is played ------------------------------------------------------------------------------------------------


async def played_at_once(play: Play) -> tuple[Ending, Notes]:
    """One process, and every question that is there answered together."""
    notes = Notes()
    agent = agent_of(play, InMemoryCheckpointer(), notes)
    while await step(play, agent, notes, all_at_once) is not None:
        pass
    return ending(await agent.result(THREAD), notes), notes


async def played_by_mortals(play: Play, choose: Choose, deaths: list[int]) -> tuple[Ending, Notes]:
    """Some answers at a time; processes die after so many commits, and each time another with objects of its own goes on."""
    notes = Notes()
    lives: list[int | None] = [*deaths, None]
    clock = ManualClock()
    store = MortalStore(clock, lives.pop(0))
    agent = agent_of(play, store, notes)
    while True:
        try:
            if await unless_it_dies(store, step(play, agent, notes, choose)) is None:
                return ending(await agent.result(THREAD), notes), notes
        except Died:
            store = store.heir(clock, lives.pop(0))
            agent = agent_of(play, store, notes)


async def played_in_a_file(play: Play, choose: Choose, folder: Path) -> tuple[Ending, Notes]:
    """Some answers at a time; every step by objects of its own over one SQLite file."""
    notes = Notes()
    while True:
        async with SqliteCheckpointer(folder / "threads.db", synchronous="normal") as store:
            agent = agent_of(play, store, notes)
            over = await step(play, agent, notes, choose) is None
            result = await agent.result(THREAD)
            await agent.runtime.aclose()
        if over:
            return ending(result, notes), notes


def check(play: Play, picks: list[int], deaths: list[int]) -> None:
    """The property; `deaths` is empty where nobody dies."""
    usual, at_once = asyncio.run(played_at_once(play))
    found, notes = asyncio.run(played_by_mortals(play, Some(picks), deaths))
    assert found == usual
    compare(at_once, notes, deaths)


def compare(at_once: Notes, notes: Notes, deaths: list[int]) -> None:
    """Nothing was asked twice; nothing was sent to the model or done with a tool that would not have been, and without deaths as often."""
    questions = [key for key in notes.asked.values() if '"breakpoint"' not in key]
    assert len(set(questions)) == len(questions)
    if deaths:
        assert [request for request in notes.requests if request not in at_once.requests] == []
        assert {one[:2] for one in notes.ran} == {one[:2] for one in at_once.ran}
    else:
        assert notes.requests == at_once.requests
        assert sorted(one[:2] for one in notes.ran) == sorted(one[:2] for one in at_once.ran)
    keys = {call_id: {key for id, _, key in notes.ran if id == call_id} for call_id, _, _ in notes.ran}
    assert all(len(one) == 1 for one in keys.values())
    assert len(set().union(*keys.values())) == len(keys)


picks = st.lists(st.integers(0, 99), min_size=1, max_size=20)
deaths = st.lists(st.integers(1, 12), min_size=1, max_size=3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks)
def test_any_order_ends_the_turn_as_if_all_had_been_answered_at_once(play: Play, picks: list[int]) -> None:
    """2.4.2, 2.4.3, 4.5.1, F11: messages, status, usage, questions asked, requests sent and calls run."""
    check(play, picks, [])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks, deaths=deaths)
def test_any_order_and_any_deaths_end_it_the_same_way(play: Play, picks: list[int], deaths: list[int]) -> None:
    """2.4.7, 2.4.8, 4.5.6, D13: whoever goes on, at whatever commit the one before died."""
    check(play, picks, deaths)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks)
def test_every_step_may_be_made_by_objects_of_its_own_over_one_file(play: Play, picks: list[int]) -> None:
    """2.4.7, 4.5.2: what a step needs to go on is in the file, kept answers included."""
    usual, at_once = asyncio.run(played_at_once(play))
    with tempfile.TemporaryDirectory() as folder:
        found, notes = asyncio.run(played_in_a_file(play, Some(picks), Path(folder)))
    assert found == usual
    compare(at_once, notes, [])


@pytest.fixture(scope="module")
def processes() -> Iterator[Server]:
    with server() as made:
        yield made


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(play=plays(), picks=picks, deaths=deaths, after=st.booleans())
def test_processes_that_die_at_commits_end_the_turn_too(
    processes: Server, play: Play, picks: list[int], deaths: list[int], after: bool
) -> None:
    """2.4.7, 2.4.8, 4.5.6, D8, D13: each process is killed right before or right after a commit; a call has one key in all of them."""
    usual, at_once = asyncio.run(played_at_once(play))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ended = [processes.run(folder, play, picks, at, after) for at in deaths]
        assert set(ended) <= {0, -signal.SIGKILL}
        assert processes.run(folder, play, picks) == 0
        notes = WrittenNotes(folder / "notes")
        found = asyncio.run(_read(folder, play, notes))
    assert found == usual
    compare(at_once, notes, deaths)


async def _read(folder: Path, play: Play, notes: Notes) -> Ending:
    async with SqliteCheckpointer(folder / "threads.db") as store:
        return ending(await agent_of(play, store, notes).result(THREAD), notes)


# -- the proof that it can fail --------------------------------------------------------------------------------------


def _in_order_of_arrival(nodes: Any, state: Any, context: Any) -> Command:
    """Results in the order in which they were recorded, which is that of the answers."""
    stored = tuple(replace(one.message, id=f"{context.task_id}/tool/{one.message.tool_call_id}") for one in state[TOOL_RESULTS])
    return Command().update(MESSAGES, AppendMessages(stored)).remove(TOOL_RESULTS).goto(nodes.model)


def _forgetting(step: Any) -> Any:
    async def with_the_last_answer_only(*given: Any) -> Any:
        return await step(*[one[-1:] if isinstance(one, tuple) else one for one in given])

    return with_the_last_answer_only


def _unapproved(call: Any, message_id: str, _kept: bool = False, answers: Any = (), *, approved: bool = False, **more: Any) -> CallWork:
    """An approval that does not outlive a question: only the one just given counts."""
    return CallWork(call, message_id, approved, answers, **more)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "answers applied in order of arrival": (compiled, "collect", _in_order_of_arrival),
    "the answer before the last forgotten": (compiled, "call_model", _forgetting(compiled.call_model)),
    "an approval forgotten over a question": (compiled, "CallWork", _unapproved),
    "a key of its own for every attempt": (call_module, "idempotency_key", lambda *_: uuid4().hex),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property can fail: each of these has been a plausible mistake."""
    monkeypatch.setattr(*FAULTS[fault])

    @settings(max_examples=200, deadline=None, database=None, phases=[Phase.generate], report_multiple_bugs=False)
    @seed(20)
    @given(play=plays(), picks=picks, deaths=deaths)
    def look(play: Play, picks: list[int], deaths: list[int]) -> None:
        check(play, picks, deaths)

    with pytest.raises(AssertionError):
        look()

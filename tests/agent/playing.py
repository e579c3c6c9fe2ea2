"""Plays to draw, the ways to play them, and what must come of each (2.4, 4.5, 8.10, D13)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import strategies as st

from llm4s_notebook.agent import AgentNode
from llm4s_notebook.checkpoint import InMemoryCheckpointer, SqliteCheckpointer
from llm4s_notebook.testing import ManualClock

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
        draw(st.sampled_from([1, 1, 1, 2])),
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

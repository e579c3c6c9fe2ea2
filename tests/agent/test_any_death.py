"""Whatever process takes a person's decisions, and at whatever commit the one before died, a turn ends the same way (2.4, 8.10, D8)."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm4s_notebook.checkpoint import SqliteCheckpointer

from .dying import Deaths, WrittenNotes
from .playing import check, compare, deaths, picks, played_at_once, plays
from .plays import THREAD, Ending, Notes, Play, agent_of, ending


@pytest.mark.parametrize("third", range(3))  # so that each ends in time where the machine is busy
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks, deaths=deaths)
def test_any_order_and_any_deaths_end_it_the_same_way(third: int, play: Play, picks: list[int], deaths: list[int]) -> None:
    """2.4.7, 2.4.8, 4.5.6, D13: whoever goes on, at whatever commit the one before died."""
    check(play, picks, deaths)


@pytest.fixture(scope="module")
def processes() -> Iterator[Deaths]:
    with Deaths.open() as made:
        yield made


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
@given(play=plays(), picks=picks, deaths=deaths, after=st.booleans())
def test_processes_that_die_at_commits_end_the_turn_too(
    processes: Deaths, play: Play, picks: list[int], deaths: list[int], after: bool
) -> None:
    """2.4.7, 2.4.8, 4.5.6, D8, D13: each process is killed right before or right after a commit; a call has one key in all of them."""
    usual, at_once = asyncio.run(played_at_once(play))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ended = [processes.run(folder, play, picks, at, after) for at in deaths]
        assert set(ended) <= {0, -signal.SIGKILL}
        assert ended[0] == -signal.SIGKILL or deaths[0] > 6  # no turn with two askers and three calls has so few commits
        assert processes.run(folder, play, picks) == 0
        notes = WrittenNotes(folder / "notes")
        found = asyncio.run(_read(folder, play, notes))
    assert found == usual
    compare(at_once, notes, deaths)


async def _read(folder: Path, play: Play, notes: Notes) -> Ending:
    async with SqliteCheckpointer(folder / "threads.db") as store:
        return ending(await agent_of(play, store, notes).result(THREAD), notes)

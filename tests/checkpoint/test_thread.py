"""What a store has of one thread is one thing (6.1)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import Append, Checkpointer, Commit, EventDraft, InMemoryCheckpointer, Set, SqliteCheckpointer
from llm4s_notebook.checkpoint._event import Progress
from llm4s_notebook.errors import CheckpointConflict, InvalidCommit, StaleClaim
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import draft, event, write


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Checkpointer]:
    made: Checkpointer = (
        InMemoryCheckpointer(clock=clock) if request.param == "memory" else SqliteCheckpointer(tmp_path / "t.db", clock=clock)
    )
    yield made
    await made.aclose()


async def four(store: Checkpointer) -> tuple[list[str], list[str], list[int | None], int | None]:
    """Checkpoint ids, the tasks of the pending writes, event numbers, and the token of the claim."""
    latest = await store.latest("t")
    claim = (await store.head("t")).claim
    return (
        [one.id for one in await store.history("t")],
        [one.task_id for one in latest.writes] if latest else [],
        [one.sequence for one in await store.events_after("t", 0)],
        claim.token if claim else None,
    )


async def test_a_commit_changes_all_that_a_thread_has_or_nothing(store: Checkpointer, clock: ManualClock) -> None:
    """R6.1, R6.9, R6.20: history, pending writes of the latest checkpoint only, events and claim; a commit that is refused for one of
    the four leaves the other three as they were."""
    claim = await store.claim("t", "run", 30)
    await store.commit(
        "t", Commit(token=claim.token, checkpoints=(draft(clock, 1),), writes=(write("run/1", "0.0"),), events=(event(clock),))
    )
    before = await four(store)
    assert before == (["run/1"], ["0.0"], [1], claim.token)
    whole = Commit(
        token=claim.token,
        checkpoints=(draft(clock, 2),),
        writes=(write("run/2", "1.0"),),
        events=(event(clock), event(clock)),
        release=True,
    )
    refused: list[tuple[Commit, type[Exception]]] = [
        (whole._replace(token=claim.token + 1), StaleClaim),
        (whole._replace(checkpoints=(draft(clock, 2, "run/9"),)), CheckpointConflict),
        (whole._replace(writes=(write("run/1", "1.0"),)), InvalidCommit),
        (whole._replace(events=(event(clock), EventDraft("run", Progress("p", 1, None), clock.now()))), InvalidCommit),
    ]
    for commit, error in refused:
        with pytest.raises(error):
            await store.commit("t", commit)
        assert await four(store) == before
    await store.commit("t", whole)
    assert await four(store) == (["run/2", "run/1"], ["1.0"], [1, 2, 3], None)
    assert (await store.threads())[0].thread_id == "t"


async def test_one_checkpoint_is_read_as_it_was_or_there_is_none(store: Checkpointer, clock: ManualClock) -> None:
    """R6.12: any of the history, whole, whatever was committed since; another thread's id and an unknown one are nothing."""
    claim = await store.claim("t", "run", 30)
    for number in (1, 2, 3):
        made = draft(clock, number, "", Set("state", "n", str(number).encode()), Append("state", "list", (str(number).encode(),)))
        await store.commit("t", Commit(token=claim.token, checkpoints=(made,)))
    history = {one.id: one for one in await store.history("t")}
    for number in (1, 2, 3):
        one = await store.checkpoint("t", f"run/{number}")
        assert one is not None
        assert one == history[f"run/{number}"]
        assert one.entries == {("state", "n"): str(number).encode(), ("state", "list"): [str(n).encode() for n in range(1, number + 1)]}
    assert await store.checkpoint("t", "run/4") is None
    assert await store.checkpoint("u", "run/1") is None

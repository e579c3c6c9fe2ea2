"""Two runtimes with a store each on one file, in turns: what one did between two answers the other finds (R6.23, R8.12, D8, D17)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from llm4s_notebook.checkpoint import RetentionPolicy, SqliteCheckpointer
from llm4s_notebook.errors import InvalidResume, NotSuspended
from llm4s_notebook.graph import Command, GraphRuntime, Suspended

from .graphs import ITEMS, Fan, fan, ids, output

MANY = 80
Change = Callable[[GraphRuntime, Fan], Awaitable[None]]


async def answered(runtime: GraphRuntime, made: Fan, id: str) -> object:
    return await (await runtime.resume("t", made.graph, {id: True}))


async def test_two_stores_answer_in_turns(tmp_path: Path) -> None:
    """D17: each answer runs once, wherever it was given; the order is that of the answers."""
    made = fan()
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as one, SqliteCheckpointer(tmp_path / "t.db") as two:
        runtimes = (GraphRuntime(one), GraphRuntime(two))
        waiting = ids(await runtimes[0].run("t", made.graph, [f"ask {n}" for n in range(MANY)]))
        outcome: object = None
        for turn, id in enumerate(waiting):
            here, there = runtimes[turn // 3 % 2], runtimes[turn // 3 % 2 - 1]
            outcome = await answered(here, made, id)
            if turn % 8 == 0:
                pending = await there.pending("t", made.graph)
                assert pending is not None
                assert ids(pending) == waiting[turn + 1 :]
                with pytest.raises(InvalidResume) as refused:
                    await answered(there, made, id)
                assert [one.code for one in refused.value.problems] == ["answered"]
        assert output(outcome) == ["planned", *(f"ask {n}:True" for n in range(MANY)), "summ"]
        assert len(made.ran) == 2 * MANY + 2
        assert set(made.ran.values()) == {1}


async def edited(other: GraphRuntime, made: Fan) -> None:
    latest = await other.checkpointer.latest("t")
    assert latest is not None
    await other.update_state("t", made.graph, latest.checkpoint.id, Command().update(ITEMS, "edited"))


async def pruned(other: GraphRuntime, made: Fan) -> None:
    await other.checkpointer.prune("t", RetentionPolicy(max_checkpoints=1, max_events=1))


async def answered_by_another(other: GraphRuntime, made: Fan) -> None:
    await answered(other, made, "1.1")


async def begun_anew(other: GraphRuntime, made: Fan) -> None:
    await other.delete_thread("t")
    await other.run("t", made.graph, ["ask 0", "ask 1", "ask 2", "ask 3"])


async def forked(other: GraphRuntime, made: Fan) -> None:
    """Away, and back under the old name."""
    for source, target in (("t", "u"), ("u", "t")):
        latest = await other.checkpointer.latest(source)
        assert latest is not None
        await other.delete_thread(target)
        await other.fork(source, latest.checkpoint.id, target)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (edited, {"1.1", "1.2", "1.3"}),
        (pruned, {"1.1", "1.2", "1.3"}),
        (answered_by_another, {"1.2", "1.3"}),
        (begun_anew, {"1.0", "1.1", "1.2", "1.3"}),
        (forked, {"1.1", "1.2", "1.3"}),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
async def test_a_change_between_two_answers(tmp_path: Path, change: Change, left: set[str]) -> None:
    """R6.32, R6.33, R6.35, R6.37: the next answer goes on from what the thread is then."""
    made = fan()
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as one, SqliteCheckpointer(tmp_path / "t.db") as two:
        here, there = GraphRuntime(one), GraphRuntime(two)
        await here.run("t", made.graph, ["ask 0", "ask 1", "ask 2", "ask 3"])
        await answered(here, made, "1.0")
        await change(there, made)
        state = await there.pending("t", made.graph)
        assert state is not None
        before = state.state[ITEMS]
        outcome = await answered(here, made, "1.2")
        assert isinstance(outcome, Suspended)
        assert set(ids(outcome)) == left - {"1.2"}
        assert outcome.state[ITEMS] == [*before, "ask 2:True"]
        async with SqliteCheckpointer(tmp_path / "t.db") as cold:
            found = await GraphRuntime(cold).pending("t", made.graph)
            assert found is not None
            assert ids(found) == ids(outcome)
            assert found.state[ITEMS] == outcome.state[ITEMS]
            history = await cold.history("t")
            assert history[0].entries[("state", ITEMS.id)] == [f'"{item}"'.encode() for item in outcome.state[ITEMS]]


async def test_a_turn_given_up_between_two_answers(tmp_path: Path) -> None:
    """R6.36: nothing waits any more; the thread goes on with a new turn."""
    made = fan()
    async with SqliteCheckpointer(tmp_path / "t.db", synchronous="normal") as one, SqliteCheckpointer(tmp_path / "t.db") as two:
        here, there = GraphRuntime(one), GraphRuntime(two)
        await here.run("t", made.graph, ["ask 0", "ask 1"])
        await answered(here, made, "1.0")
        await there.abandon("t", made.graph)
        with pytest.raises(NotSuspended):
            await answered(here, made, "1.1")
        again = await here.run("t", made.graph, ["ask 2", "ask 3"])
        last = [await answered(runtime, made, id) for runtime, id in zip((there, here), ids(again), strict=True)][-1]
        assert output(last)[-3:] == ["ask 2:True", "ask 3:True", "summ"]

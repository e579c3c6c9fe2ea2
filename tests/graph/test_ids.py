"""The ids of a run, and what they may be (R1.1 - R1.12)."""

from __future__ import annotations

import pytest

from llm4s_notebook.errors import InvalidResume
from llm4s_notebook.graph import GraphRuntime, RunConfig

from .graphs import asking, chain, ids


async def test_checkpoint_ids_count_along_the_thread(runtime: GraphRuntime) -> None:
    """R1.5, HIS-02: one run id for two runs repeats no checkpoint id."""
    made = chain()
    for _ in range(2):
        await runtime.run("t", made.graph, 1, RunConfig(run_id="run"))
    history = await runtime.history("t")
    assert [c.id for c in reversed(history)] == [f"run/{n}" for n in range(1, 11)]
    assert [c.parent_id for c in history] == [*(f"run/{n}" for n in range(9, 0, -1)), None]


async def test_two_default_runs_have_different_ids(runtime: GraphRuntime) -> None:
    """BUD-07, R1.4."""
    made = chain()
    first = await runtime.start("t", made.graph, 1)
    await first
    second = await runtime.start("t", made.graph, 1)
    await second
    third = await runtime.start("t", made.graph, 1, RunConfig(run_id="mine"))
    await third
    assert first.run_id != second.run_id
    assert third.run_id == "mine"


async def test_a_turn_that_follows_has_interrupts_of_other_ids(runtime: GraphRuntime) -> None:
    """R1.10, F03 (graph part): an old id never means something new."""
    graph = asking(bool)
    assert ids(await runtime.run("t", graph, None)) == ["0.0"]
    await (await runtime.resume("t", graph, {"0.0": True}))
    assert ids(await runtime.run("t", graph, None)) == ["2.0"]
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"0.0": True})
    assert caught.value.problems[0].code == "answered"
    assert ids(await runtime.pending("t", graph)) == ["2.0"]

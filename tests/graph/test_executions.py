"""The execution that a runtime holds of a thread (R6.46)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.errors import RestoreRejected
from llm4s_notebook.graph import GraphRuntime

from .graphs import Another, chain, fan, output


async def test_the_held_execution_is_used_only_while_it_is_the_latest(runtime: GraphRuntime, another: Another) -> None:
    """D17: a turn that another runtime added is seen; another graph object is restored into."""
    made = chain()
    await runtime.run("t", made.graph, 1)
    await another().run("t", chain().graph, 1)
    third = await runtime.run("t", made.graph, 1)
    assert output(third) == ["start", "middle", "end"] * 3
    other = chain()
    assert len(output(await runtime.run("t", other.graph, 1))) == 12
    assert made.ran["start"] == 2
    with pytest.raises(RestoreRejected):
        await runtime.run("t", fan().graph, ["a"])


async def test_a_held_thread_is_not_read_again() -> None:
    """D17: hot turns call neither latest nor history; the cost of a turn does not grow with the thread."""

    class Counting(InMemoryCheckpointer):
        reads = 0

        async def latest(self, thread_id: str) -> Any:
            self.reads += 1
            return await super().latest(thread_id)

    store = Counting()
    runtime = GraphRuntime(store)
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b"])
    await (await runtime.resume("t", made.graph, {"1.0": True}))
    await (await runtime.resume("t", made.graph, {"1.1": True}))
    await runtime.run("t", made.graph, ["a"])
    assert store.reads == 0

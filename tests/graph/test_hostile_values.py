"""Inputs, answers and updates that no JSON text can carry are refused before anything changes (R4.9, R4.20, D4)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import EncodeError, InvalidResume, Llm4sError, NodeFailed
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend

from .graphs import ids, output, trace
from .test_deep_values import deep

ANY: StateKey[Any, Any] = StateKey("any", Any, Any, initial=None, reduce=lambda _, new: new)  # type: ignore[arg-type]  # Any as a type


class Loud:
    """Not data at all; whoever touches its copying hooks is caught."""

    def __reduce__(self) -> Any:
        raise AssertionError("pickled")

    def __deepcopy__(self, memo: Any) -> Any:
        raise AssertionError("copied")


def ring() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


HOSTILE: dict[str, Any] = {
    "lone surrogate": "\ud800",
    "lone surrogate as a name": {"\udfff": 1},
    "deep": deep(5_000),
    "a ring": ring(),
    "not a number": float("nan"),
    "infinite": [float("inf")],
    "huge integer": 10**6_000,
    "bytes that are no text": b"\xff\xfe",
    "no data": Loud(),
    "a class": Loud,
}


def graph(update: str = "") -> CompiledGraph[Any, Any]:
    """start updates with the hostile value named, or asks."""
    builder = GraphBuilder("any", version="1")
    ask = builder.declare_resume("ask", question=str, answer=Any)  # type: ignore[type-abstract]  # Any as a type

    @builder.node("start", writes=ANY, input=Any, routes=ask)
    async def start(given: Any) -> Command | Suspend[str, Any]:
        if update:
            return Command().update(ANY, HOSTILE[update])
        return Suspend("well?", ask)

    @builder.implement(ask, writes=ANY)
    async def answered(given: Resumed[str, Any]) -> Command:
        return Command().update(ANY, given.answer)

    return builder.compile(start, output=lambda state: state[ANY])


@pytest.mark.parametrize("what", list(HOSTILE))
async def test_a_hostile_input_starts_nothing(runtime: GraphRuntime, store: Checkpointer, what: str) -> None:
    """R4.20: EncodeError, no thread, no claim."""
    with pytest.raises(EncodeError) as caught:
        await runtime.start("t", graph(), HOSTILE[what])
    assert caught.value.problems
    assert await store.latest("t") is None
    assert (await store.head("t")).claim is None


@pytest.mark.parametrize("what", list(HOSTILE))
async def test_a_hostile_answer_is_refused_and_the_question_stays(runtime: GraphRuntime, store: Checkpointer, what: str) -> None:
    """R4.9: InvalidResume names the interrupt; a good answer is taken afterwards."""
    made = graph()
    held = await runtime.run("t", made, "ask")
    before = await trace(store)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", made, {ids(held)[0]: HOSTILE[what]})
    assert [(one.interrupt_id, one.code) for one in caught.value.problems] == [(ids(held)[0], "invalid")]
    assert await trace(store) == before
    assert output(await (await runtime.resume("t", made, {ids(held)[0]: {"well": [1, "é", None]}}))) == {"well": [1, "é", None]}


@pytest.mark.parametrize("key", ["\ud800", "x" * 100_000, "", "'; DROP TABLE x; --", "\0"])
async def test_hostile_ids_are_refused_or_kept_as_they_are(runtime: GraphRuntime, store: Checkpointer, key: str) -> None:
    """R1.11: ids are compared, never parsed: a strange thread id is a thread like any other, or a clear error."""
    made = graph()
    if key == "\ud800":
        with pytest.raises(Llm4sError, match="holds half a character, at position 0") as caught:
            await runtime.run(key, made, "ask")
        assert caught.value.next_step
        return
    held = await runtime.run(key, made, "ask")
    with pytest.raises(InvalidResume):
        await runtime.resume(key, made, {key + "?": 1})
    await (await runtime.resume(key, made, {ids(held)[0]: 5}))
    assert [one.thread_id for one in await store.threads()] == [key]


@pytest.mark.parametrize("what", list(HOSTILE))
async def test_a_hostile_update_fails_its_node_and_is_recoverable(runtime: GraphRuntime, store: Checkpointer, what: str) -> None:
    """R1.19, R3.18: the update is refused where it is made, by name, and nothing of it is stored."""
    with pytest.raises(NodeFailed, match="'any'"):
        await runtime.run("t", graph(what), "update")
    latest = await store.latest("t")
    assert latest is not None
    assert ("state", "any") not in latest.checkpoint.entries
    assert (await store.head("t")).claim is None

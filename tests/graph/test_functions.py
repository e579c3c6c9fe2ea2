"""How a node's function gets what it needs (R1.20)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from llm4s_notebook.errors import InvalidGraph
from llm4s_notebook.graph import (
    Command,
    GraphBuilder,
    RunContext,
    StateKey,
    ThreadState,
)

from .graphs import drive, output


async def _given(function: Any, input: Any = 5, **options: Any) -> list[str]:
    """What a one-node graph's function said it was given."""
    said = StateKey.appending("said", str)
    builder = GraphBuilder("g", version="1")
    ref = builder.node("first", writes=said, **options)(function)
    graph = builder.compile(ref, output=lambda state: state[said])
    result = output(await drive(graph, graph.start(input)))
    assert isinstance(result, list)
    return result


SAID = StateKey.appending("said", str)


def _said(*things: object) -> Command:
    command = Command()
    for thing in things:
        command = command.update(SAID, type(thing).__name__)
    return command


async def test_state_and_context_are_injected_by_annotation_in_any_order() -> None:
    """api.md: the parameter left is the input."""

    async def one(context: RunContext, n: int, state: ThreadState) -> Command:
        return _said(context, n, state)

    async def keyword(*, state: ThreadState, n: int) -> Command:
        return _said(n, state)

    async def only_context(context: RunContext) -> Command:
        return _said(context)

    async def swapped(state: ThreadState, n: int) -> Command:
        return _said(state, n)

    assert await _given(one) == ["RunContext", "int", "ThreadState"]
    assert await _given(keyword) == ["int", "ThreadState"]
    assert await _given(swapped) == ["ThreadState", "int"]
    assert await _given(only_context, None) == ["RunContext"]


async def test_three_positional_parameters_work_without_annotations() -> None:
    """api.md: `(input, state, context)`; without an input type there is no payload."""

    async def bare(n, state, context):  # type: ignore[no-untyped-def]
        return _said(n, state, context)

    assert await _given(bare, None) == ["NoneType", "ThreadState", "RunContext"]
    builder = GraphBuilder("g", version="1")
    first = builder.node("first", writes=SAID, input=int)(bare)
    graph = builder.compile(first, output=lambda state: state[SAID])
    assert output(await drive(graph, graph.start(7))) == ["int", "ThreadState", "RunContext"]


async def test_a_plain_function_a_method_and_a_callable_object_can_be_nodes() -> None:
    """api.md: a plain one is run in a worker thread (D24)."""

    class Thing:
        async def method(self, n: int) -> Command:
            return _said(n)

        def __call__(self, state: ThreadState, n: int) -> Command:
            return _said(n, state)

    assert await _given(Thing().method) == ["int"]
    assert await _given(Thing()) == ["int", "ThreadState"]
    assert await _given(lambda: _said(1), None) == ["int"]


async def test_a_class_defined_beside_the_node_may_annotate_it() -> None:
    """Annotations are text in this file: local names are found where the node is decorated."""

    @dataclass(frozen=True)
    class Local:
        n: int

    builder = GraphBuilder("g", version="1")

    @builder.node("first", writes=SAID)
    async def first(given: Local, state: ThreadState) -> Command:
        return _said(given)

    graph = builder.compile(first, output=lambda state: state[SAID])
    assert output(await drive(graph, graph.start(Local(1)))) == ["Local"]


def test_what_cannot_be_bound_is_a_problem_of_the_node() -> None:
    """R2.1: an unknown annotation and two inputs are reported by compile."""
    builder = GraphBuilder("g", version="1")

    async def two(a: int, b: str) -> None: ...

    async def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821 - that is the test

    first = builder.node("two")(two)
    builder.node("unknown")(unknown)
    with pytest.raises(InvalidGraph) as caught:
        builder.compile(first, output=lambda _: None)
    assert any("parameters a, b are left for one input" in problem for problem in caught.value.problems)
    assert any("the annotation of parameter 'a' cannot be resolved" in problem for problem in caught.value.problems)

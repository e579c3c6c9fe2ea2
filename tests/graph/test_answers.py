"""Which answers a resume takes and which it refuses (R4.8 - R4.10)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError, EncodeError, InvalidResume, NotSuspended
from llm4s_notebook.graph import Answer, Breakpoint, Command, GraphBuilder, GraphRuntime, Resumed, RunConfig, Suspend, Suspended
from llm4s_notebook.testing import ManualClock

from .graphs import LOG, asking, drive, fan, ids, nothing, output, trace


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ({}, [(None, "empty")]),
        ([], [(None, "empty")]),
        ({"9.9": True}, [("9.9", "unknown")]),
        ({"1.0": "yes"}, [("1.0", "invalid")]),
        ({"1.0": 1}, [("1.0", "invalid")]),
        ({"1.0": None}, [("1.0", "invalid")]),
        ([Answer("1.0", True), ("1.0", False)], [("1.0", "repeated")]),
        ({"1.0": True, "9.9": True, "1.10": 1}, [("1.10", "unknown"), ("9.9", "unknown")]),
        ({"1.1": "no", "9.9": True, "1.0": "no"}, [("9.9", "unknown"), ("1.0", "invalid"), ("1.1", "invalid")]),
    ],
)
async def test_every_bad_answer_is_named_and_nothing_is_taken(
    runtime: GraphRuntime, store: Checkpointer, answers: Any, wanted: list[tuple[str | None, str]]
) -> None:
    """SUS-09, SUS-14, R4.9, R4.10, R4.19, D5, D6: unknown ids first, sorted, then bad answers in parked order; no good one is taken."""
    made = fan()
    assert ids(await runtime.run("t", made.graph, ["ask a", "ask b"])) == ["1.0", "1.1"]
    before = await trace(store)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", made.graph, answers)
    assert [(problem.interrupt_id, problem.code) for problem in caught.value.problems] == wanted
    assert caught.value.graph_id == "fan"
    assert await trace(store) == before
    assert not made.ran["approve ask a"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True, "1.1": False}))) == [
        "planned",
        "ask a:True",
        "ask b:False",
        "summ",
    ]


@pytest.mark.parametrize("answers", ["1.0", 5, [("1.0",)], [1], ["1.0"], [(1, True)], None])
async def test_what_is_no_answer_at_all_is_a_config_error(runtime: GraphRuntime, store: Checkpointer, answers: Any) -> None:
    """R4.19."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    before = await trace(store)
    with pytest.raises(ConfigError) as caught:
        await runtime.resume("t", made.graph, answers)
    assert caught.value.field == "answers"
    assert await trace(store) == before


@pytest.mark.parametrize(
    "answers", [Answer("1.0", True), {"1.0": True}, [Answer("1.0", True)], [("1.0", True)], "iterator", Answer.reply("1.0", True)]
)
async def test_answers_come_in_all_the_forms_of_the_api(runtime: GraphRuntime, answers: Any) -> None:
    """api.md: `Answers`."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    if answers == "iterator":
        answers = iter([("1.0", True)])
    assert output(await (await runtime.resume("t", made.graph, answers))) == ["planned", "ask a:True", "summ"]


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}, object()])
async def test_an_answer_without_a_json_form_is_refused(runtime: GraphRuntime, value: Any) -> None:
    """D7: plain JSON on disk; a text that says NaN is a text."""
    graph = asking(Any)
    await runtime.run("t", graph, None)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"0.0": value})
    assert caught.value.problems[0].code == "invalid"
    assert output(await (await runtime.resume("t", graph, {"0.0": "NaN and Infinity"}))) == ["NaN and Infinity"]


class Inner(BaseModel):
    count: int


class Form(BaseModel):
    name: str
    inner: list[Inner]
    kind: int | bool | None = None


async def test_problems_point_into_the_answer(runtime: GraphRuntime) -> None:
    """R4.9: one problem per fault, `path` for the field of a form."""
    graph = asking(Form)
    await runtime.run("t", graph, None)
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"0.0": {"inner": [{"count": 1}, {"count": "2"}], "kind": "x"}})
    assert [(problem.path, problem.code) for problem in caught.value.problems] == [
        (("name",), "invalid"),
        (("inner", 1, "count"), "invalid"),
        (("kind",), "invalid"),
        (("kind",), "invalid"),
    ]
    for kind in ("int", "bool int", 1.5, ["int"], {"int": 1}):  # what is there may look like the name of a member of the union
        with pytest.raises(InvalidResume) as caught:
            await runtime.resume("t", graph, {"0.0": {"name": "a", "inner": [], "kind": kind}})
        assert {problem.path[:1] for problem in caught.value.problems} == {("kind",)}
    for whole in (object(), "name", ["name"], 5, None):
        with pytest.raises(InvalidResume) as caught:
            await runtime.resume("t", graph, {"0.0": whole})
        assert [(problem.path, problem.code) for problem in caught.value.problems] == [((), "invalid")]
    assert output(await (await runtime.resume("t", graph, {"0.0": Form(name="a", inner=[Inner(count=1)])})))[0]["name"] == "a"


async def test_an_invalid_answer_then_a_valid_one(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F07 (graph part): nothing was saved of the first."""
    graph = asking(bool)
    await runtime.run("t", graph, None)
    before = await trace(store)
    with pytest.raises(InvalidResume):
        await runtime.resume("t", graph, {"0.0": 1})
    assert await trace(store) == before
    assert output(await (await runtime.resume("t", graph, {"0.0": False}))) == [False]


@pytest.mark.parametrize("value", [None, {}, [], 0, False, "", {"any": [1, None]}])
async def test_a_resume_node_with_raw_json_answers_takes_any_json(runtime: GraphRuntime, value: Any) -> None:
    """SUS-20, R4.9a, D5, D11: the node decides."""
    graph = asking(Any)
    await runtime.run("t", graph, None)
    assert output(await (await runtime.resume("t", graph, {"0.0": value}))) == [value]


@pytest.mark.parametrize(
    ("declared", "value"), [(str | None, None), (bool, False), (int, 0), (list[int], []), (str, ""), (dict[str, int], {})]
)
async def test_an_answer_is_the_presence_of_its_key(runtime: GraphRuntime, declared: Any, value: Any) -> None:
    """F05, D5: empty answers arrive as given and the question never comes back."""
    graph = asking(declared)
    assert ids(await runtime.run("t", graph, None)) == ["0.0"]
    assert output(await (await runtime.resume("t", graph, {"0.0": value}))) == [value]


async def test_null_answers_a_nullable_question_and_a_breakpoint_each_by_its_own_rule(runtime: GraphRuntime) -> None:
    """SUS-19, R5.24: the parked record decides the kind."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str | None)

    @builder.node("asks")
    async def asks() -> Suspend[str, str | None]:
        return Suspend("?", ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str | None]) -> Command:
        return Command().update(LOG, repr(given.answer))

    @builder.node("held", writes=LOG)
    async def held() -> Command:
        return Command().update(LOG, "held")

    start = builder.node("start")(nothing)
    builder.edge(start, asks)
    builder.edge(start, held)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None, RunConfig(interrupt_before="held"))) == ["1.0", "1.1"]
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"1.0": "x", "1.1": "x"})
    assert [problem.interrupt_id for problem in caught.value.problems] == ["1.1"]
    done = await runtime.resume("t", graph, {"1.1": Breakpoint.proceed, "1.0": None})
    assert output(await done) == ["None", "held"]


async def test_the_same_payload_twice_is_refused_after_completion(runtime: GraphRuntime, store: Checkpointer) -> None:
    """F04: the second resume is refused and nothing runs."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    await (await runtime.resume("t", made.graph, {"1.0": True}))
    ran, before = dict(made.ran), await trace(store)
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"1.0": True})
    assert await trace(store) == before
    assert made.ran == ran


async def test_an_id_that_was_answered_says_when_and_by_whom(runtime: GraphRuntime, clock: ManualClock) -> None:
    """F41 (graph part): also after other interrupts were parked, and for several ids at once."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b", "ask c"])
    clock.advance(60)
    at = clock.now()
    await (await runtime.resume("t", made.graph, {"1.0": True}, RunConfig(principal="ana")))
    clock.advance(60)
    await (await runtime.resume("t", made.graph, {"1.1": True}))
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", made.graph, {"1.0": False, "1.1": True, "1.2": True, "7.7": 1})
    assert [(p.interrupt_id, p.code, p.answered_at, p.answered_by) for p in caught.value.problems] == [
        ("1.0", "answered", at, "ana"),
        ("1.1", "answered", at + timedelta(seconds=60), None),
        ("7.7", "unknown", None, None),
    ]


async def test_answers_in_memory_are_checked_the_same() -> None:
    """R4.9: `graph.resume`."""
    made = fan()
    held = await drive(made.graph, made.graph.start(["ask a", "ask b"]))
    assert isinstance(held, Suspended)
    with pytest.raises(InvalidResume) as caught:
        made.graph.resume(held.execution, {"1.0": 1, "x": 1})
    assert [problem.code for problem in caught.value.problems] == ["unknown", "invalid"]
    after = await drive(made.graph, made.graph.resume(held.execution, {"1.0": True}))
    assert ids(after) == ["1.1"]
    assert ids(held) == ["1.0", "1.1"]  # an execution is a value: the old one can still be answered another way
    other = await drive(made.graph, made.graph.resume(held.execution, {"1.0": False, "1.1": False}))
    assert output(other) == ["planned", "ask a:False", "ask b:False", "summ"]


@pytest.mark.parametrize("answer", [10**5000, {"deep": [1, 10**5000]}], ids=["bare", "deep"])
async def test_a_number_too_long_to_be_read_again_is_refused_and_stays_pending(
    runtime: GraphRuntime, store: Checkpointer, answer: Any
) -> None:
    """R4.9, D6: Python reads no number of more than 4300 digits; nothing is changed and the next answer is taken."""
    graph = asking(Any)
    assert isinstance(await runtime.run("t", graph, None), Suspended)
    before = await trace(store)
    with pytest.raises(InvalidResume) as refused:
        await runtime.resume("t", graph, {"0.0": answer})
    assert [(problem.interrupt_id, problem.code) for problem in refused.value.problems] == [("0.0", "invalid")]
    with pytest.raises(EncodeError):
        Answer.reply("0.0", answer)
    assert await trace(store) == before
    digits = "1" * 5000  # as a text it is fine
    assert output(await (await runtime.resume("t", graph, {"0.0": digits}))) == [digits]

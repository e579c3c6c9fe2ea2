"""Suspending, answering, refusing (SUS, R4)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel

from llm4s_notebook.checkpoint import Checkpointer, CheckpointStatus
from llm4s_notebook.errors import (
    ConfigError,
    EncodeError,
    InvalidResume,
    InvalidRoute,
    NotSuspended,
    PendingInterrupts,
    RestoreRejected,
    UndeclaredWrite,
)
from llm4s_notebook.graph import (
    Answer,
    Breakpoint,
    Command,
    CompiledGraph,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    StateKey,
    Suspend,
    Suspended,
    events,
)
from llm4s_notebook.testing import ManualClock

from .graphs import LOG, chain, drive, fan, ids, log, output, trace

N = StateKey.replace("n", int, initial=0)
GOT = StateKey.appending("got", Any)


async def _nothing() -> None: ...


def asking(answer: Any, question: Any = str) -> CompiledGraph[None, list[Any]]:
    """start asks once, the answer is appended to `got`."""
    builder = GraphBuilder("asking", version="1")
    ask = builder.declare_resume("ask", question=question, answer=answer)

    @builder.implement(ask, writes=GOT)
    async def answered(given: Resumed[Any, Any]) -> Command:
        return Command().update(GOT, given.answer)

    @builder.node("start")
    async def start() -> Suspend[Any, Any]:
        return Suspend("?", ask)

    return builder.compile(start, output=lambda state: state[GOT])


async def test_siblings_commit_with_a_suspension_and_nothing_follows_before_the_answer(runtime: GraphRuntime) -> None:
    """R4.2, R4.3, R4.5: the pause holds though a sibling scheduled more work, which runs with the continuation."""
    builder = GraphBuilder("g", version="1")
    later = builder.declare("later")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("asks", writes=LOG)
    async def asks() -> Suspend[str, str]:
        return Suspend("who?", ask, Command().update(LOG, "asked"))

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"{given.question} {given.answer}")

    @builder.node("sibling", writes=LOG)
    async def sibling() -> Command:
        return Command().update(LOG, "sibling").goto(later)

    @builder.implement(later, writes=LOG)
    async def later_node() -> Command:
        return Command().update(LOG, "later")

    start = builder.node("start")(_nothing)
    builder.edge(start, asks)
    builder.edge(start, sibling)
    graph = builder.compile(start, output=lambda state: state[LOG])
    held = await runtime.run("t", graph, None)
    assert isinstance(held, Suspended)
    assert held.state[LOG] == ["asked", "sibling"]
    (one,) = held.interrupts
    assert (one.id, one.resume_node, one.question, one.breakpoint) == ("1.0", "ask", "who?", None)
    assert [task.id for task in held.execution.frontier] == ["2.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "me"}))) == ["asked", "sibling", "later", "who? me"]


async def test_an_arrival_is_made_by_the_continuation_of_the_asking_node(runtime: GraphRuntime) -> None:
    """SUS-06, R3.13: the join lists the asking node, and merge runs last."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.node("left")
    async def left() -> Suspend[str, str]:
        return Suspend("?", ask)

    def logs(name: str) -> Any:
        async def node() -> Command:
            return Command().update(LOG, name)

        return node

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"left {given.answer}")

    right = builder.node("right", writes=LOG)(logs("right"))
    merge = builder.node("merge", writes=LOG)(logs("merge"))
    start = builder.node("start")(_nothing)
    builder.edge(start, left)
    builder.edge(start, right)
    builder.static_join("both", [left, right], merge)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None)) == ["1.0"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "yes"}))) == ["right", "left yes", "merge"]


async def test_a_suspension_is_checked_like_every_result() -> None:
    """SUS-08, R3.3: write set first, then the resume node, which is of this graph and one to resume at."""
    other = GraphBuilder("other", version="1").declare_resume("ask", question=str, answer=str)
    for update, target, error in ((Command().update(N, 1), None, UndeclaredWrite), (Command(), other, InvalidRoute)):
        builder = GraphBuilder("g", version="1")
        ask = builder.declare_resume("ask", question=str, answer=str)
        builder.implement(ask)(_nothing)

        async def start(update: Command, target: Any) -> Suspend[str, str]:
            return Suspend("?", target, update)

        node = builder.node("start")(functools.partial(start, update=update, target=target or ask))
        graph = builder.compile(node, output=lambda _: None)
        with pytest.raises(error):
            await graph.step(graph.start(None))
    builder = GraphBuilder("g", version="1")
    plain = builder.node("plain")(_nothing)

    @builder.node("start")
    async def to_plain() -> Suspend[Any, Any]:
        return Suspend("?", plain)  # type: ignore[arg-type]

    graph = builder.compile(to_plain, output=lambda _: None)
    with pytest.raises(InvalidRoute):
        await graph.step(graph.start(None))


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
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"0.0": object()})
    assert caught.value.problems[0].code == "invalid"
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

    start = builder.node("start")(_nothing)
    builder.edge(start, asks)
    builder.edge(start, held)
    graph = builder.compile(start, output=lambda state: state[LOG])
    assert ids(await runtime.run("t", graph, None, RunConfig(interrupt_before="held"))) == ["1.0", "1.1"]
    with pytest.raises(InvalidResume) as caught:
        await runtime.resume("t", graph, {"1.0": "x", "1.1": "x"})
    assert [problem.interrupt_id for problem in caught.value.problems] == ["1.1"]
    done = await runtime.resume("t", graph, {"1.1": Breakpoint.proceed, "1.0": None})
    assert output(await done) == ["None", "held"]


async def test_two_branches_that_pause_together_are_answered_together(runtime: GraphRuntime) -> None:
    """F02, R4.11: parked order, not the order of the answers."""
    made = fan()
    assert ids(await runtime.run("t", made.graph, ["ask a", "ask b"])) == ["1.0", "1.1"]
    done = await runtime.resume("t", made.graph, {"1.1": False, "1.0": True})
    assert output(await done) == ["planned", "ask a:True", "ask b:False", "summ"]


async def test_answers_given_one_by_one_leave_the_rest_pending(runtime: GraphRuntime) -> None:
    """R4.8, R4.13: incremental approval; the join stays closed until the last."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "b", "ask c"])
    left = await (await runtime.resume("t", made.graph, {"1.2": True}))
    assert ids(left) == ["1.0"]
    assert left.state[StateKey.appending("items", str)] == ["planned", "B", "ask c:True"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": False}))) == ["planned", "B", "ask c:True", "ask a:False", "summ"]
    assert made.ran["b"] == made.ran["ask a"] == made.ran["ask c"] == 1


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


async def test_a_question_raised_while_another_waits_is_listed_after_it(runtime: GraphRuntime) -> None:
    """F08: P and R pause while a sibling routes on to Q, which asks."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=str)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, str]) -> Command:
        return Command().update(LOG, f"{given.question}={given.answer}")

    def asks(name: str) -> Any:
        async def node() -> Suspend[str, str]:
            return Suspend(name, ask)

        return builder.node(name)(node)

    p, r, q = asks("P"), asks("R"), asks("Q")

    @builder.node("S")
    async def sibling() -> Command:
        return Command().goto(q)

    start = builder.node("start")(_nothing)
    for target in (p, r, sibling):
        builder.edge(start, target)
    graph = builder.compile(start, output=lambda state: state[LOG])
    paused = await runtime.run("t", graph, None)
    assert [one.question for one in paused.interrupts] == ["P", "R"]  # type: ignore[union-attr]
    after_r = await (await runtime.resume("t", graph, {"1.1": "r"}))
    assert [(one.id, one.question) for one in after_r.interrupts] == [("1.0", "P"), ("2.0", "Q")]  # type: ignore[union-attr]
    after_q = await (await runtime.resume("t", graph, {"2.0": "q"}))
    assert [one.question for one in after_q.interrupts] == ["P"]  # type: ignore[union-attr]
    assert after_q.state[LOG] == ["R=r", "Q=q"]
    assert output(await (await runtime.resume("t", graph, {"1.0": "p"}))) == ["R=r", "Q=q", "P=p"]


async def test_a_continuation_may_ask_again_under_an_id_of_its_own(runtime: GraphRuntime) -> None:
    """R4.14: the origin stays the very first task, so the join still waits for it."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=int, answer=str)
    done = builder.node("done")(_nothing)
    join = builder.dynamic_join("j", done)

    @builder.node("child")
    async def child(n: int) -> Suspend[int, str]:
        return Suspend(1, ask)

    @builder.implement(ask, writes=LOG)
    async def again(given: Resumed[int, str]) -> Command | Suspend[int, str]:
        update = Command().update(LOG, f"{given.question}{given.answer}")
        return Suspend(given.question + 1, ask, update) if given.question < 3 else update

    @builder.node("start")
    async def start() -> Command:
        return Command().fan_out(join, child, [0])

    graph = builder.compile(start, output=lambda state: state[LOG])
    held: Any = await runtime.run("t", graph, None)
    seen = []
    while isinstance(held, Suspended):
        (parked,) = held.execution.parked.values()
        assert parked.origin == ("1.0", "child")
        assert parked.slot == ("j", "0.0")
        seen.append(parked.id)
        held = await (await runtime.resume("t", graph, {parked.id: "x"}))
    assert seen == ["1.0", "2.0", "3.0"]
    assert output(held) == ["1x", "2x", "3x"]


async def test_a_waiting_thread_refuses_start_and_recover(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.17, F23 (graph part): with the ids in parked order."""
    made = fan()
    await runtime.run("t", made.graph, [f"ask {n}" for n in range(11)])
    before = await trace(store)
    for call in (runtime.start("t", made.graph, []), runtime.recover("t", made.graph)):
        with pytest.raises(PendingInterrupts) as caught:
            await call
        assert caught.value.interrupt_ids == tuple(f"1.{n}" for n in range(11))
    assert await trace(store) == before


async def test_resume_is_refused_on_every_thread_that_does_not_wait(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R4.18."""
    made = chain()
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"0.0": None})
    assert (await store.head("t")).checkpoint_id is None
    await runtime.run("t", made.graph, 1)
    with pytest.raises(NotSuspended):
        await runtime.resume("t", made.graph, {"0.0": None})


async def test_another_runtime_resumes_what_was_suspended(runtime: GraphRuntime, another: Any, store: Checkpointer) -> None:
    """R4.6, R1.39, RBD-01: a rebuilt graph's own client answers, not the one captured when it asked."""

    def built(client: str) -> CompiledGraph[None, list[str]]:
        builder = GraphBuilder("g", version="1")
        ask = builder.declare_resume("ask", question=str, answer=str)

        @builder.node("start", writes=LOG)
        async def start() -> Suspend[str, str]:
            return Suspend("?", ask, Command().update(LOG, client))

        @builder.implement(ask, writes=LOG)
        async def answered(given: Resumed[str, str]) -> Command:
            return Command().update(LOG, f"{client} {given.answer}")

        return builder.compile(start, output=lambda state: state[LOG])

    await runtime.run("t", built("old"), None)
    assert (await store.head("t")).status is CheckpointStatus.SUSPENDED
    rebuilt = built("new")
    second = another()
    pending = await second.pending("t", rebuilt)
    assert ids(pending) == ["0.0"]
    assert output(await (await second.resume("t", rebuilt, {"0.0": "yes"}))) == ["old", "new yes"]
    assert await second.pending("t", rebuilt) is None
    assert await second.pending("nowhere", rebuilt) is None


async def test_nothing_expires_by_itself(runtime: GraphRuntime, clock: ManualClock) -> None:
    """F34: thirty days later the answer is accepted."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    clock.advance(30 * 24 * 3600)
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "ask a:True", "summ"]


async def test_two_paused_threads_are_independent(runtime: GraphRuntime) -> None:
    """F35: answered in reverse order."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a"])
    await runtime.run("u", made.graph, ["ask b"])
    assert output(await (await runtime.resume("u", made.graph, {"1.0": False}))) == ["planned", "ask b:False", "summ"]
    assert ids(await runtime.pending("t", made.graph)) == ["1.0"]
    assert output(await (await runtime.resume("t", made.graph, {"1.0": True}))) == ["planned", "ask a:True", "summ"]


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


async def test_events_list_what_waits_and_what_was_answered(runtime: GraphRuntime, store: Checkpointer) -> None:
    """R7.6: answered in parked order; everything still pending, older ones included."""
    made = fan()
    await runtime.run("t", made.graph, ["ask a", "ask b", "ask c"])
    await (await runtime.resume("t", made.graph, {"1.2": True, "1.1": True}, RunConfig(principal="ana")))
    told = await log(store)
    assert [event for event in told if isinstance(event, (events.RunSuspended, events.RunResumed))] == [
        events.RunSuspended(("1.0", "1.1", "1.2")),
        events.RunResumed(("1.1", "1.2"), "ana"),
        events.RunSuspended(("1.0",)),
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


async def test_a_damaged_parked_record_is_named() -> None:
    """SUS-12, R6.39: resume node, question, origin, half slot, duplicate, missing."""
    made = fan()
    held = await drive(made.graph, made.graph.start(["ask a", "ask b"]))
    assert isinstance(held, Suspended)
    snapshot = made.graph.snapshot(held.execution)
    first, second = snapshot["parked"]
    damaged = [
        ({**first, "node": "worker"}, "parked interrupt 1.0: node 'worker' is no resume node"),
        ({**first, "question": 7}, "parked interrupt 1.0: its question does not decode"),
        ({**first, "origin_node": "gone"}, "parked interrupt 1.0: origin node 'gone' is unknown"),
        ({k: v for k, v in first.items() if k != "slot_task"}, "parked interrupt 1.0: half a join slot"),
        (second, "parked interrupt 1.1: the id occurs twice"),
        (None, "activation of join 'work' by task 0.0: waits for 1.0, which is neither pending nor parked"),
    ]
    for record, named in damaged:
        parked = [second] if record is None else [record, second]
        with pytest.raises(RestoreRejected) as caught:
            made.graph.restore({**snapshot, "parked": parked})
        assert any(problem.startswith(named) for problem in caught.value.problems), (named, caught.value.problems)
    with pytest.raises(RestoreRejected) as caught:
        made.graph.restore({**snapshot, "parked": [damaged[0][0], damaged[0][0], {**second, "question": 7}]})
    assert len(caught.value.problems) >= 3


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


@pytest.mark.parametrize("thread_id", [5, None, b"t", "half \ud83d"])
async def test_what_is_no_thread_id_is_refused_before_anything_is_stored(
    runtime: GraphRuntime, store: Checkpointer, thread_id: Any
) -> None:
    """D2: a refusal raises before anything changed, on every store."""
    graph = asking(str)
    for call in (
        lambda: runtime.start(thread_id, graph, None),
        lambda: runtime.resume(thread_id, graph, {"0.0": "x"}),
        lambda: runtime.delete_thread(thread_id),
    ):
        with pytest.raises(ConfigError) as refused:
            await call()
        assert refused.value.field == "thread_id"
    assert await store.threads() == []


async def test_a_thread_begun_anew_under_the_same_run_id_is_read_again(
    runtime: GraphRuntime, another: Callable[[], GraphRuntime], store: Checkpointer
) -> None:
    """D12, D17: another kernel deleted the thread and ran it again; its checkpoints have the very ids that this runtime wrote.
    What is answered and run is what the store holds."""
    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=str, answer=bool)

    @builder.node("start", input=str)
    async def start(given: str) -> Suspend[str, bool]:
        return Suspend(given, ask)

    @builder.implement(ask, writes=LOG)
    async def answered(given: Resumed[str, bool]) -> Command:
        return Command().update(LOG, given.question)

    graph = builder.compile(start, output=lambda state: state[LOG])
    config = RunConfig(run_id="fixed")
    await runtime.run("t", graph, "old", config)
    elsewhere = another()
    await elsewhere.delete_thread("t")
    assert isinstance(await elsewhere.run("t", graph, "new", config), Suspended)
    waiting = await runtime.pending("t", graph)
    assert waiting is not None
    assert [interrupt.question for interrupt in waiting.interrupts] == ["new"]
    assert output(await (await runtime.resume("t", graph, {"0.0": True}))) == ["new"]

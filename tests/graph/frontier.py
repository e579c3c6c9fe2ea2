"""A graph whose bodies end in any order asked for, the contract of a frontier, and a machine that compares random orders."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from llm4s_notebook.errors import UnsatisfiedJoin
from llm4s_notebook.graph import (
    Command,
    CompiledGraph,
    Completed,
    Execution,
    GraphBuilder,
    Resumed,
    RunBudgets,
    RunConfig,
    RunContext,
    StateKey,
    Suspend,
    Suspended,
)

LOG = StateKey.appending("log", str)
LAST = StateKey.replace("last", str, initial="")
_BUDGETS = RunBudgets(max_concurrency=64)

Plan = tuple[int, bool, int, bool]
"""What a worker does: updates, whether it asks, children fanned out (-1: no fan-out), whether it goes on to `after`."""


@dataclass
class Orders:
    """Bodies wait in `gates` until they are let go, one at a time; `free` lets each go as it comes."""

    free: bool
    gates: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])

    async def turn(self, context: RunContext) -> None:
        if not self.free:
            gate = self.gates[context.task_id] = asyncio.Event()
            await gate.wait()


def graph_of(orders: Orders) -> CompiledGraph[list[Plan], list[str]]:
    """start fans workers out; they update, ask, fan out children, go on; two static joins and two dynamic ones."""
    builder = GraphBuilder("orders", version="1")
    ask = builder.declare_resume("ask", question=str, answer=bool)
    after, done, inner_done = builder.declare("after"), builder.declare("done"), builder.declare("inner done")
    both, beside = builder.declare("both"), builder.declare("beside")
    join, inner = builder.dynamic_join("outer", done), builder.dynamic_join("inner", inner_done)

    @builder.node("child", writes=[LOG, LAST])
    async def child(text: str, context: RunContext) -> Command:
        await orders.turn(context)
        return Command().update(LOG, text).update(LAST, text)

    @builder.node("worker", writes=[LOG, LAST], input=tuple[int, Plan], routes=[inner, child, after, ask])
    async def worker(given: tuple[int, Plan], context: RunContext) -> Command | Suspend[str, bool]:
        await orders.turn(context)
        index, (updates, asks, children, goes) = given
        command = Command()
        for n in range(updates):
            command = command.update(LOG, f"{context.task_id} {index}.{n}").update(LAST, f"{index}.{n}")
        if asks:
            return Suspend(f"{index}", ask, command)
        if children >= 0:
            command = command.fan_out(inner, child, [f"{context.task_id}/{n}" for n in range(children)])
        return command.goto(after) if goes else command

    @builder.implement(ask, writes=[LOG, LAST], routes=after)
    async def answered(given: Resumed[str, bool], context: RunContext) -> Command:
        await orders.turn(context)
        command = Command().update(LOG, f"answer {given.question}").update(LAST, given.question)
        return command.goto(after) if given.answer else command

    async def says(context: RunContext) -> Command:
        await orders.turn(context)
        return Command().update(LOG, context.node_id).update(LAST, context.task_id)

    for ref in (after, done, inner_done, both, beside):
        builder.implement(ref, writes=[LOG, LAST])(says)
    builder.static_join("both", [beside, worker], both)

    @builder.node("start", input=list[Plan], routes=[join, worker, beside])
    async def start(plans: list[Plan], context: RunContext) -> Command:
        await orders.turn(context)
        return Command().goto(beside).fan_out(join, worker, list(enumerate(plans)))

    return builder.compile(start, output=lambda state: state[LOG])


class Side:
    """One of the executions that are compared: `free`, or with bodies that end in a drawn order."""

    def __init__(self, free: bool) -> None:
        self.orders = Orders(free)
        self.graph = graph_of(self.orders)
        self.at: Execution | Completed[Any] | Suspended | UnsatisfiedJoin | None = None

    @property
    def execution(self) -> Execution | None:
        at = self.at
        return at.execution if isinstance(at, Suspended) else at if isinstance(at, Execution) else None

    async def step(self, order: list[int], config: RunConfig) -> None:
        """One superstep; bodies end in the order in which `order`, taken as sort keys, puts them."""
        assert isinstance(self.at, Execution)
        stepping = asyncio.ensure_future(self.graph.step(self.at, config))
        while not stepping.done():
            count = -1
            while count < len(self.orders.gates):  # every body is there
                count = len(self.orders.gates)
                for _ in range(3):
                    await asyncio.sleep(0)
            waiting = list(self.orders.gates.items())
            self.orders.gates = {}
            keys = order or [0]
            for _, (_, gate) in sorted(enumerate(waiting), key=lambda one: (keys[one[0] % len(keys)], -one[0])):
                gate.set()
                for _ in range(3):
                    await asyncio.sleep(0)
        try:
            self.at = await stepping
        except UnsatisfiedJoin as error:  # a quiet end too: a question answered late arrives at a join that has fired without it
            self.at = error

    def told(self) -> Any:
        """Everything that must not depend on an order: state, ids, what is parked, the joins, the next frontier."""
        if isinstance(self.at, Completed):
            return ["completed", self.at.output, self.at.superstep]
        if isinstance(self.at, UnsatisfiedJoin):
            return ["unsatisfied", self.at.join_id, self.at.missing]
        return self.graph.snapshot(self.execution) if self.execution is not None else None


class FrontierContract:
    """What each order must give, by example. Plain tests without fixtures, so that they can be called by hand too."""

    async def two(self, plans: list[Plan], order: list[int], config: RunConfig = RunConfig()) -> tuple[Side, Side]:  # noqa: B008 - immutable
        """The workers of `plans`, ended as they come and in `order`, after their superstep."""
        sides = Side(True), Side(False)
        for side in sides:
            side.at = side.graph.start(plans)
            await side.step([], config)
            await side.step(order, config)
        return sides

    async def test_updates_are_applied_in_frontier_order(self) -> None:
        """R3.4: the last of the frontier wins, whoever ended last."""
        usual, shuffled = await self.two([(1, False, -1, False)] * 3, [9, 3, 2, 1])
        assert shuffled.told() == usual.told()
        assert shuffled.execution is not None
        assert shuffled.execution.state[LAST] == "2.0"

    async def test_the_next_frontier_is_numbered_in_frontier_order(self) -> None:
        """R3.7: ids count what each task scheduled, task by task."""
        usual, shuffled = await self.two([(0, False, 2, True), (0, False, -1, True), (0, False, 1, False)], [0, 3, 2, 1])
        assert shuffled.told() == usual.told()
        tasks = shuffled.told()["tasks"]
        assert [one["id"] for one in tasks] == [f"2.{n}" for n in range(len(tasks))]
        assert [one["node"] for one in tasks[:5]] == ["child", "child", "after", "after", "child"]

    async def test_questions_are_parked_in_frontier_order(self) -> None:
        """R4.4: whoever asked first waits no longer than the one before it in the frontier."""
        usual, shuffled = await self.two([(0, True, -1, False)] * 3, [0, 3, 2, 1])
        assert shuffled.told() == usual.told()
        assert isinstance(shuffled.at, Suspended | Execution)
        assert shuffled.execution is not None
        assert [one["question"] for one in shuffled.told()["parked"]] == ["0", "1", "2"]


plans = st.tuples(st.integers(0, 2), st.booleans(), st.integers(-1, 3), st.booleans())
orders = st.lists(st.integers(0, 9), min_size=1, max_size=8)
configs = st.sampled_from(
    [RunConfig(budgets=_BUDGETS)] * 3
    + [RunConfig(interrupt_before=["child", "after"], budgets=_BUDGETS), RunConfig(interrupt_after=["worker", "ask"], budgets=_BUDGETS)]
)


class FrontierMachine(RuleBasedStateMachine):
    """The same supersteps with bodies that end as they come and in a drawn order: always the same execution (R3.2, R3.4, R3.7)."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.sides = Side(True), Side(False)
        self._begin([(1, True, 1, True), (1, False, 0, False), (1, True, 2, True)])

    def _begin(self, some: list[Plan]) -> None:
        for side in self.sides:
            side.at = side.graph.start(some)

    @precondition(lambda self: self.sides[0].execution is None)
    @rule(some=st.lists(plans, max_size=6))
    def begin(self, some: list[Plan]) -> None:
        self._begin(some)

    @precondition(lambda self: isinstance(self.sides[0].at, Execution))
    @rule(order=orders, config=configs)
    def step(self, order: list[int], config: RunConfig) -> None:
        for side in self.sides:
            self.runner.run(side.step(order, config))

    @precondition(lambda self: isinstance(self.sides[0].at, Suspended))
    @rule(chosen=st.lists(st.integers(0, 20), max_size=3), said=st.booleans())
    def answer(self, chosen: list[int], said: bool) -> None:
        """Any non-empty part of what waits."""
        for side in self.sides:
            assert isinstance(side.at, Suspended)
            waiting = side.at.interrupts
            some = {index % len(waiting) for index in chosen} or range(len(waiting))
            answers = {waiting[index].id: None if waiting[index].breakpoint else said for index in some}
            side.at = side.graph.resume(side.at.execution, answers)

    @invariant()
    def orders_do_not_matter(self) -> None:
        usual, shuffled = self.sides
        assert shuffled.told() == usual.told()

    def teardown(self) -> None:
        self.runner.close()

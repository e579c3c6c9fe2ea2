"""D3: whatever the wrappers around a model hook's question do, nothing is called again and the step parks with that question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, Completed, MiddlewareHook, Suspended
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ModelFailed, RunCancelled
from llm4s_notebook.models import AssistantMessage, Completion, ScriptedClient

from .support import Gate, Need, Wrap, waiting


async def swallowing_errors(request: Any, _context: Any, next: Any) -> Any:
    try:
        return await next(request)
    except Exception:
        return Completion(AssistantMessage("swallowed"))


async def swallowing_everything(request: Any, _context: Any, next: Any) -> Any:
    try:
        return await next(request)
    except BaseException:
        return Completion(AssistantMessage("swallowed"))


async def returning_in_finally(request: Any, _context: Any, next: Any) -> Any:
    try:
        return await next(request)
    finally:
        return Completion(AssistantMessage("finally"))  # noqa: B012, SIM107 - what a careless wrapper does


async def retrying(request: Any, _context: Any, next: Any) -> Any:
    for _ in range(5):
        try:
            return await next(request)
        except BaseException:
            continue
    return Completion(AssistantMessage("gave up"))


async def in_a_task_group(request: Any, _context: Any, next: Any) -> Any:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(next(request))
    return task.result()


async def in_a_task_group_with_everything_caught(request: Any, _context: Any, next: Any) -> Any:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0.01))
            task = group.create_task(next(request))
        return task.result()
    except BaseException:
        return Completion(AssistantMessage("swallowed"))


async def gathering(request: Any, _context: Any, next: Any) -> Any:
    first, _ = await asyncio.gather(next(request), next(request), return_exceptions=True)
    return first if isinstance(first, Completion) else Completion(AssistantMessage("gathered"))


async def raising_instead(request: Any, _context: Any, next: Any) -> Any:
    try:
        return await next(request)
    except BaseException as error:
        raise RuntimeError("instead") from error


async def falling_back(request: Any, _context: Any, next: Any) -> Any:
    try:
        async with asyncio.timeout(30):
            return await next(request)
    except BaseException:
        return await next(request)


async def with_a_second_attempt_given_up(request: Any, _context: Any, next: Any) -> Any:
    second = asyncio.create_task(asyncio.sleep(5))
    try:
        return await next(request)
    finally:
        second.cancel()
        await second


async def returning_something_else(request: Any, _context: Any, next: Any) -> Any:
    try:
        return await next(request)
    except BaseException:
        return None


WRAPPERS: list[Callable[..., Any]] = [
    swallowing_errors,
    swallowing_everything,
    returning_in_finally,
    retrying,
    in_a_task_group,
    in_a_task_group_with_everything_caught,
    gathering,
    raising_instead,
    falling_back,
    returning_something_else,
]


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("deep", [1, 2])
async def test_no_wrapper_can_swallow_a_models_question(wrapper: Callable[..., Any], deep: int):
    """D3: the client is not called, the gate asks once, and the answered step then goes its way."""
    asked: list[int] = []

    class Counting(Gate):
        async def wrap_model_call(self, request: Any, context: Any, next: Any) -> Any:
            if self.answered(context) is None:
                asked.append(1)
            return await super().wrap_model_call(request, context, next)

    client = ScriptedClient("done", "done")
    outer = [Wrap(f"outer{n}", model=wrapper) for n in range(deep)]
    agent = Agent("assistant", client, middleware=[*outer, Counting()])
    result = await agent.run("go", thread_id="t")
    (request,) = waiting(result).middleware_questions.values()
    assert (request.hook, request.decode(Need)) == (MiddlewareHook.WRAP_MODEL_CALL, Need(what="may I?"))
    assert client.requests == []
    # two at once may both have been on their way to the gate before it asked
    assert len(asked) <= (2**deep if wrapper is gathering else 1)
    answered = await agent.resume("t", [review.reply(True) for review in result.pending])
    assert isinstance(answered.status, Completed)


async def test_a_cancellation_of_a_wrappers_own_making_does_not_hide_the_question():
    """D3: nobody cancelled the run; the wrapper gave up a task of its own and awaited it."""
    client = ScriptedClient("done")
    agent = Agent("assistant", client, middleware=[Wrap("outer", model=with_a_second_attempt_given_up), Gate()])
    result = await agent.run("go", thread_id="t")
    assert [request.middleware for request in waiting(result).middleware_questions.values()] == ["gate"]
    assert client.requests == []


async def test_a_question_behind_a_wrapper_that_loops_for_ever_does_not_keep_the_loop():
    """D3: the loop's other work goes on, and the run can be cancelled from it."""

    async def forever(request: Any, context: Any, next: Any) -> Any:
        while not context.cancelled:
            try:
                return await next(request)
            except BaseException:
                continue
        return Completion(AssistantMessage("left"))

    agent = Agent("assistant", ScriptedClient("done"), middleware=[Wrap("forever", model=forever), Gate()])
    run = await agent.start("go", thread_id="t")
    for _ in range(20):
        await asyncio.sleep(0)
    run.cancel()
    with pytest.raises(RunCancelled):
        await run


async def test_the_wrappers_own_failure_before_the_question_is_its_failure(store: Checkpointer):
    """MW-22: a model that fails is the model's failure, also through wrappers that let it pass."""

    async def passing(request: Any, _context: Any, next: Any) -> Any:
        return await next(request)

    agent = Agent(
        "assistant", ScriptedClient(OSError("down"), "done"), middleware=[Wrap("a", model=passing), Wrap("b", model=passing)], runtime=store
    )
    with pytest.raises(ModelFailed, match="down") as failed:
        await agent.run("go", thread_id="t")
    assert isinstance(failed.value.cause, OSError)
    assert failed.value.node_id == "assistant/model"
    assert not isinstance((await agent.result("t")).status, Suspended)

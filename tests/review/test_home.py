"""The loop a session lives on."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from llm4s_notebook.review._home import Home, in_spite_of_cancels

from .loops import elsewhere, other_loop


async def test_work_called_from_another_loop_runs_on_the_home_loop_and_its_result_comes_back():
    """D23: the home loop is the one it was first used from."""
    home = Home(lambda: None)
    assert home.adopt()

    async def where() -> tuple[asyncio.AbstractEventLoop, int]:
        return asyncio.get_running_loop(), threading.get_ident()

    with other_loop() as loop:
        ran_on, thread = await elsewhere(loop, home.call(where))
    assert ran_on is asyncio.get_running_loop()
    assert thread == threading.get_ident()


async def test_an_error_of_the_work_is_raised_to_the_caller_on_the_other_loop():
    """D23: refusals cross the hop."""
    home = Home(lambda: None)
    home.adopt()

    async def refuse() -> None:
        raise LookupError("no")

    with other_loop() as loop, pytest.raises(LookupError, match="no"):
        await elsewhere(loop, home.call(refuse))


async def test_cancelling_the_caller_cancels_the_work_and_waits_until_it_is_out():
    """D2: from another loop as from the same."""
    home = Home(lambda: None)
    home.adopt()
    begun, out = asyncio.Event(), []

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.05)
            out.append("out")

    with other_loop() as loop:
        calling = asyncio.run_coroutine_threadsafe(home.call(work), loop)
        await begun.wait()
        holder: list[asyncio.Task[Any]] = []

        async def cancel() -> list[str]:
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            holder.extend(tasks)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            return list(out)

        assert await elsewhere(loop, cancel()) == ["out"]
        assert holder[0].cancelled()
    assert calling.cancelled() or isinstance(calling.exception(), BaseException)


def test_a_loop_that_has_ended_is_replaced_by_the_next_one():
    """D23: two asyncio.run calls share a session."""
    moves: list[int] = []
    home = Home(lambda: moves.append(1))

    async def use() -> bool:
        return home.adopt()

    assert asyncio.run(use())
    assert home.loop is None
    assert asyncio.run(use())
    assert len(moves) == 2


def test_without_any_loop_nothing_is_called_and_that_is_said():
    """F29: a callback in a place without a loop is told so instead of being lost."""
    called: list[int] = []
    assert Home(lambda: None).post(lambda: called.append(1)) is False
    assert called == []


async def test_a_cancel_that_comes_while_something_ends_is_raised_when_it_has_ended():
    """D2: a cancellation passes; it is neither lost nor early."""
    ending: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(in_spite_of_cancels(ending))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.sleep(0)
    assert not waiting.done()
    ending.set_result(None)
    with pytest.raises(asyncio.CancelledError):
        await waiting

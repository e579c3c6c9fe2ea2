"""A cell that awaits a person, cancelled by something else than an interrupt."""

from __future__ import annotations

import asyncio

import pytest

from llm4s_notebook.review import review

from .seat import Seat, shown_in_a_cell
from .turns import Shop, deployments


async def test_a_wait_that_is_given_a_time_ends_as_asyncio_says(seat: Seat):
    """D2: only a plain CancelledError is one to `asyncio.timeout`; the cards stay, as after an interrupt."""
    agent = Shop().agent(deployments("1.0"), "out")

    async def cell() -> None:
        async with asyncio.timeout(None) as limit:
            waits = asyncio.ensure_future(seat.session())
            waits.add_done_callback(lambda _: limit.reschedule(0))
            await review(agent, "ship", thread_id="t")

    with pytest.raises(TimeoutError):
        await cell()
    assert len(seat.shown[-1].state().pending) == 1
    assert "no cell waits any more" in (seat.shown[-1].state().notice or "")


async def test_a_wait_in_a_task_group_is_cancelled_with_it(seat: Seat):
    """D2: the group ends as cancelled, and makes no group of errors of it."""
    agent = Shop().agent(deployments("1.0"), "out")

    async def cell() -> None:
        async with asyncio.TaskGroup():
            await review(agent, "ship", thread_id="t")

    waiting = asyncio.ensure_future(cell())
    await seat.session()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await waiting
    assert shown_in_a_cell(ended.value)[0] == "CancelledError: this cell waits no more, and nothing is lost"

"""F26: the calls without await, from everywhere they may be made."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from llm4s_notebook.agent import Agent
from llm4s_notebook.agent._sync import run_blocking
from llm4s_notebook.errors import ConfigError, ModelFailed
from llm4s_notebook.models import ScriptedClient, calls

from .support import call, gated_into


def test_from_a_script():
    """F26: run, resume and recover, one after the other, on one kept loop."""
    agent = Agent("assistant", ScriptedClient(OSError("down"), calls(call("c1", "gated", what="x")), "done"), tools=gated_into([]))
    with pytest.raises(ModelFailed):
        agent.run_sync("go", thread_id="t")
    result = agent.recover_sync("t")
    assert len(result.pending) == 1
    assert agent.resume_sync("t", [review.approve() for review in result.pending]).answer == "done"


def test_a_call_that_ends_the_process_ends_for_who_made_it_and_leaves_the_loop_to_others():
    """F26, D2: a `SystemExit` comes out of the loop, which runs on; nobody waits for ever."""

    async def leave() -> None:
        await asyncio.sleep(0)
        raise SystemExit(3)

    async def stay() -> str:
        await asyncio.sleep(0)
        return "here"

    told: list[object] = []

    def both() -> None:
        try:
            run_blocking("run_sync", leave())
        except SystemExit as left:
            told.append(left.code)
        told.append(run_blocking("run_sync", stay()))

    caller = threading.Thread(target=both, daemon=True)
    caller.start()
    caller.join(60)
    assert told == [3, "here"]


def test_from_many_threads_at_once():
    """F26, D23."""
    agent = Agent("assistant", ScriptedClient(*["done"] * 8))
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda n: agent.run_sync(f"go {n}"), range(8)))
    assert [result.answer for result in results] == ["done"] * 8
    assert len({result.thread_id for result in results}) == 8


async def test_from_a_thread_while_the_main_loop_runs():
    """F26."""
    agent = Agent("assistant", ScriptedClient("done"))
    assert (await asyncio.to_thread(agent.run_sync, "go")).answer == "done"


def _in_a_process(code: str) -> Any:
    """Run code in a process of its own, since nest_asyncio patches the whole one; its last line of output is JSON."""
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout.strip().splitlines()[-1])


def test_from_a_cell_of_a_running_loop_and_from_its_callbacks():
    """F26: the loop goes on while it waits; TaskGroups and timeouts inside a tool work."""
    told = _in_a_process(
        """
        import asyncio, json
        from typing import Any
        from llm4s_notebook import Agent, NeedsApproval, ScriptedClient, ToolCall, ToolContext, calls, tool

        @tool
        async def work(context: ToolContext) -> Any:
            "Work."
            if not context.approved:
                return NeedsApproval("check")
            async with asyncio.timeout(30), asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0.01))
            return "worked"

        agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "work", {})), "done", "again"), tools=work)
        ticks = []

        async def ticking():
            while True:
                ticks.append(1)
                await asyncio.sleep(0.001)

        async def cell():
            other = asyncio.create_task(ticking())
            await asyncio.sleep(0)
            result = agent.run_sync("go", thread_id="t")
            before = len(ticks)
            result = agent.resume_sync("t", [review.approve() for review in result.pending])
            told = [result.answer, len(ticks) > before]
            done = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(lambda: done.set_result(agent.run_sync("more", thread_id="t").answer))
            told.append(await done)
            other.cancel()
            return told

        print(json.dumps(asyncio.run(cell())))
        """
    )
    assert told == ["done", True, "again"]


def test_where_the_loop_cannot_be_waited_in_it_says_which_call_to_use():
    """F26: and nothing was started."""
    told = _in_a_process(
        """
        import asyncio, json
        from llm4s_notebook import Agent, ScriptedClient
        from llm4s_notebook.errors import ConfigError

        class Loop(asyncio.SelectorEventLoop):
            pass

        import nest_asyncio
        def refuse(loop=None):
            raise ValueError("Can't patch loop of type " + type(loop).__name__)
        nest_asyncio.apply = refuse

        agent = Agent("assistant", ScriptedClient("done"))

        async def cell():
            try:
                agent.run_sync("go", thread_id="t")
            except ConfigError as error:
                head = await agent.runtime.checkpointer.head("t")
                return [str(error), head.checkpoint_id]

        print(json.dumps(asyncio.run(cell())))
        """
    )
    assert "await agent.run(" in told[0]
    assert told[1] is None


def test_an_interrupt_while_waiting_cancels_the_turn():
    """D2: an interrupted script leaves the thread for recover, also where the signal comes a moment before it falls asleep."""
    told = _in_a_process(
        """
        import asyncio, json, os, signal, threading
        from llm4s_notebook import Agent, ScriptedClient, tool, calls, ToolCall, Unfinished

        signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts a shell's background job has it ignored, and so its children
        entered = threading.Event()
        times = []

        @tool
        async def hang() -> str:
            "Hang once."
            times.append(1)
            if len(times) == 1:
                entered.set()
                await asyncio.Event().wait()
            return "fine"

        agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "hang", {})), "done"), tools=hang)

        def interrupt():
            entered.wait(20)
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # which wakes no other thread

        threading.Thread(target=interrupt, daemon=True).start()
        try:
            agent.run_sync("go", thread_id="t")
            ended = "returned"
        except KeyboardInterrupt:
            ended = "interrupted"
        print(json.dumps([ended, agent.recover_sync("t").answer]))
        """
    )
    assert told == ["interrupted", "done"]


def test_refusals_are_raised_as_they_are():
    """D2."""
    with pytest.raises(ConfigError, match="the query is blank"):
        Agent("assistant", ScriptedClient()).run_sync("  ")

"""A process whose loop is closed in the middle of a run with siblings; what is collected then says nothing (R8.5)."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings

from llm4s_notebook.graph import GraphRuntime, RunBudgets, RunConfig

from .test_siblings import abreast


async def _begin(limit: int) -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # tasks that are destroyed while they wait
    at_work = asyncio.Event()

    async def work(name: str) -> str:
        at_work.set()
        await asyncio.Event().wait()
        return name

    runtime = GraphRuntime.in_memory()
    await runtime.start("t", abreast(work), ["a", "b", "c"], RunConfig(budgets=RunBudgets(max_concurrency=limit)))
    await at_work.wait()


if __name__ == "__main__":
    warnings.simplefilter("error")
    loop = asyncio.new_event_loop()
    loop.run_until_complete(_begin(int(sys.argv[1])))
    loop.close()
    del loop
    print("collected", gc.collect() > 0)

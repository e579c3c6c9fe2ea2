"""A process that opens a file anew, says what waits on its thread, and may answer one of it (F10)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.graph import GraphRuntime, RunConfig, Suspended

from .graphs import fan

HOLDS = RunConfig(interrupt_after="approve")


def told(outcome: object) -> list[list[Any]] | None:
    """What waits, as JSON; None when nothing does."""
    return (
        [[one.id, one.resume_node, one.question, one.breakpoint] for one in outcome.interrupts] if isinstance(outcome, Suspended) else None
    )


def fresh(path: Path, answer: str | None = None) -> dict[str, Any]:
    """Ask such a process: what waits there, what its list of threads says, and, after answering, the outcome and who ran it."""
    command = [sys.executable, "-m", "tests.graph.fresh", str(path), *([answer] if answer is not None else [])]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


async def _say(path: str, answer: str | None) -> None:
    made = fan()
    async with SqliteCheckpointer(path) as store:
        runtime = GraphRuntime(store)
        pending = await runtime.pending("t", made.graph)
        said: dict[str, Any] = {"waits": told(pending), "listed": [list(one.interrupts) for one in await store.threads()]}
        if answer is not None and isinstance(pending, Suspended):
            (one,) = [one for one in pending.interrupts if one.id == answer]
            outcome = await (await runtime.resume("t", made.graph, {answer: None if one.breakpoint else True}, HOLDS))
            said |= {"outcome": told(outcome), "ran": made.ran}
        await runtime.aclose()
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(_say(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))

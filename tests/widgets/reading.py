"""A process that opens a thread anew and says what waits on it, as the agent's result and as the cards of a session (F10)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from llm4s_notebook.agent import Agent
from llm4s_notebook.checkpoint import Checkpointer, SqliteCheckpointer
from llm4s_notebook.review import Session

from ..review.turns import Region, Shop, guarded


def asks_in_every_way(shop: Shop, *script: Any, store: Checkpointer) -> Agent:
    """An agent whose turn meets approvals, a tool's question, a middleware's question and a guardrail's."""
    return shop.agent(*script, store=store, middleware=[Region(), guarded()])


def read_anew(file: Path) -> dict[str, Any]:
    """What such a process says of thread "t"."""
    command = [sys.executable, "-m", "tests.widgets.reading", str(file)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


async def _say(file: Path) -> None:
    async with SqliteCheckpointer(file) as store:
        agent = asks_in_every_way(Shop(), "never called", store=store)
        session = Session(agent, "t")
        await session.refresh()
        state = session.state()
        result = await agent.result("t")
        print(
            json.dumps(
                {
                    "pending": [str(review) for review in result.pending],
                    "cards": [card.model_dump(mode="json") for card in state.pending],
                    "status": state.status,
                }
            )
        )


if __name__ == "__main__":
    asyncio.run(_say(Path(sys.argv[1])))

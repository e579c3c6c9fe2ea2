"""A process that opens a thread and its decision log anew, says what waits and what was decided, and may answer (F10)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from llm4s_notebook.agent import Answer
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.review import DecisionLog, Session

from .turns import Shop


def deciding(folder: Path, *answer: str, dies: bool = False) -> dict[str, Any]:
    """Ask such a process, after it has approved one call if `answer` names it. With `dies` it is killed when it would write that down."""
    command = [sys.executable, "-m", "tests.review.deciding", str(folder), "dies" if dies else "lives", *answer]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=120, check=False)
    if dies:
        assert done.returncode == -signal.SIGKILL, done.stderr
        return {}
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def _die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still here")


async def _say(folder: Path, dies: bool, answer: str | None) -> None:
    log = DecisionLog(folder / "decisions.jsonl")
    if dies:
        DecisionLog.append = _die
    async with SqliteCheckpointer(folder / "threads.db") as store:
        session = Session(Shop().agent("out", store=store), "t", principal="other", decisions=log)
        await session.refresh()
        said = {
            "pending": [card.id for card in session.state().pending],
            "decided": [record.interrupt_id for record in log.records()],
            "notice": session.state().notice,
        }
        if answer is not None:
            result = await session.answer(Answer.approve(answer))
            said["answer"] = result.answer
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(_say(Path(sys.argv[1]), sys.argv[2] == "dies", sys.argv[3] if len(sys.argv) > 3 else None))

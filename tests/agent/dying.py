"""Processes that play a turn on a file and kill themselves at a commit: a warmed-up process forks one child for each it is asked for.

The parent writes one JSON line per child to stdin and reads one line when that child is dead.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..graph.kills import KillingStore, Told
from .plays import THREAD, Notes, Play, Some, agent_of, step

PLAY: TypeAdapter[Play] = TypeAdapter(Play)


class WrittenNotes(Notes):
    """Notes that outlive their process: one JSON line each, out of its hands before anything else happens."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        for line in path.read_text().splitlines() if path.exists() else ():
            getattr(super(), line.partition(" ")[0])(*json.loads(line.partition(" ")[2]))

    def _write(self, what: str, *said: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{what} {json.dumps(said)}\n")

    def did(self, call_id: str, arguments: str, key: str) -> None:
        super().did(call_id, arguments, key)
        self._write("did", call_id, arguments, key)

    def answered(self, id: str, key: str) -> None:
        super().answered(id, key)
        self._write("answered", id, key)


async def _child(job: dict[str, Any]) -> None:
    folder = Path(job["folder"])
    play = PLAY.validate_python(job["play"])
    notes = WrittenNotes(folder / "notes")
    choose = Some(job["picks"])
    async with KillingStore(str(folder / "threads.db"), Told(), job["at"], job["after"]) as store:
        agent = agent_of(play, store, notes)
        while await step(play, agent, notes, choose) is not None:
            pass
        await agent.result(THREAD)
        await agent.runtime.aclose()


def serve() -> None:
    """Fork a child for each line; the server itself never opens a store and has one thread only."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(_child(json.loads(line)))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class Server:
    """The test's side of it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, folder: Path, play: Play, picks: list[int], at: int = 0, after: bool = False) -> int:
        """One child's exit code: 0 when it played to the end, -9 when it died at commit number `at` before that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        job = {"folder": str(folder), "play": PLAY.dump_python(play, mode="json"), "picks": picks, "at": at, "after": after}
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


@contextmanager
def server() -> Iterator[Server]:
    command = [sys.executable, "-m", "tests.agent.dying"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(20) == 0


if __name__ == "__main__":
    serve()

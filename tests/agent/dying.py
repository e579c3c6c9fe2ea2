"""Processes that play a turn on a file and kill themselves at a commit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..forks import Forks, serve
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


class Deaths(Forks):
    """Plays that die at a commit, or at none."""

    def run(self, folder: Path, play: Play, picks: list[int], at: int = 0, after: bool = False) -> int:
        """One child's exit code: 0 when it played to the end, -9 when it died at commit number `at` before that."""
        return self.fork({"folder": str(folder), "play": PLAY.dump_python(play, mode="json"), "picks": picks, "at": at, "after": after})


if __name__ == "__main__":
    serve(_child)

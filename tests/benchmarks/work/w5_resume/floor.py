from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peers.floor import FileLog, decode, encode


async def act(state: dict[str, Any], answer: str) -> dict[str, Any]:
    return {"n": state["n"] + 1, "got": answer}


class Thread:
    """A resume reads what waits and the thread, commits the answer, and then what `act` made together with the next question."""

    def __init__(self, log: FileLog) -> None:
        self.log = log
        self.seq = 0

    async def start(self) -> None:
        self.log.commit(rows=[("t", 0, encode({"n": 0, "got": ""}))], wait=[("t", "ask:0", encode({"q": 0}))])

    async def resume(self, answer: str) -> dict[str, int]:
        (task,) = self.log.connection.execute("SELECT task FROM waiting WHERE thread = 't'").fetchone()
        state = decode(self.log.bodies("t")[-1])
        self.log.commit(rows=[("t", self.seq + 1, encode({"answer": answer}))], done=[("t", task)])
        state.update(await act(state, answer))
        self.seq += 2
        question = {"q": state["n"]}
        self.log.commit(rows=[("t", self.seq, encode(state))], wait=[("t", f"ask:{state['n']}", encode(question))])
        return question


@asynccontextmanager
async def opened(store: str, path: Path) -> AsyncIterator[Thread]:
    log = FileLog(path, store)
    yield Thread(log)
    log.close()

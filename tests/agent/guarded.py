"""An agent whose refused texts wait for a review, for tests of several processes: its judges note each text they were asked about.

Run as `python guarded.py <command> <database> <notes>`; its last line of output is JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from llm4s_notebook.agent import Agent, GuardrailReview, GuardrailReviewMiddleware, GuardrailVerdict, MiddlewareQuestionRequest
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.errors import Refused
from llm4s_notebook.models import ScriptedClient

ANSWER = "an answer that is refused"


class Judge:
    """Refuses everything, each process with a reason of its own."""

    def __init__(self, name: str, notes: Path) -> None:
        self.name = name
        self._notes = notes

    def check(self, text: str) -> str:
        with self._notes.open("a") as file:
            file.write(f"{self.name}: {text}\n")
        raise Refused(f"said {os.getpid()}")


def agent(store: SqliteCheckpointer, notes: Path) -> Agent:
    """The same settings in every process, so the same version."""
    review = GuardrailReviewMiddleware(input=[Judge("query", notes)], output=[Judge("answer", notes)])
    return Agent("assistant", ScriptedClient(ANSWER), middleware=review, runtime=store)


async def main(command: str, database: str, notes: str) -> None:
    """One step of a turn, told as JSON."""
    async with SqliteCheckpointer(database) as store:
        made = agent(store, Path(notes))
        verdicts = {"allow": GuardrailVerdict.allow(), "edit": GuardrailVerdict.edit("edited"), "block": GuardrailVerdict.block()}
        if command == "run":
            result = await made.run("a query that is refused", thread_id="t")
        elif command in verdicts:
            waits = await made.result("t")
            result = await made.resume("t", [review.reply(verdicts[command]) for review in waits.pending])
        else:
            result = await made.result("t")
        reviews: list[GuardrailReview] = []
        if result.pending:
            requests: list[MiddlewareQuestionRequest] = [*result.status.middleware_questions.values()]  # type: ignore[union-attr]
            reviews = [request.decode(GuardrailReview) for request in requests]
        told = {
            "pid": os.getpid(),
            "reviews": [[review.phase, review.guardrail, review.reason, review.text] for review in reviews],
            "status": str(result.status) if not reviews else "waits",
            "messages": len(result.messages),
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

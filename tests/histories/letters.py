"""The graph whose threads are kept in `format-1.db`, and what makes that file anew.

`python -m tests.histories.letters FOLDER` writes `format-1.db` and `format-1.json`, what a reader must find in it. The two that are
committed were written when the format was frozen; they are replaced only together with a new format number.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from llm4s_notebook.checkpoint import Checkpointer, RetentionPolicy, SqliteCheckpointer
from llm4s_notebook.checkpoint._event import event_to_json
from llm4s_notebook.graph import (
    Block,
    Command,
    GraphBuilder,
    GraphRuntime,
    Resumed,
    RunConfig,
    RunContext,
    StateKey,
    Suspend,
    Suspended,
    ThreadState,
)


class Letter(BaseModel):
    to: str
    text: str
    pages: list[int] = []


class Doubt(BaseModel):
    letter: Letter
    why: str


class Verdict(BaseModel):
    send: bool
    note: str | None = None


class Refused(Exception):
    """What a block raises."""


def _newest_three(current: list[Letter], update: Letter) -> list[Letter]:
    """Rewrites items in place and drops the oldest: a store sees every kind of change to a list."""
    changed = [one.model_copy(update={"text": one.text.lower()}) if one.to == update.to else one for one in current]
    return [*changed, update][-3:]


LOG = StateKey.appending("log", str)
SENT: StateKey[list[Letter], Letter] = StateKey("sent", list[Letter], Letter, initial=[], reduce=_newest_three)
LAST: StateKey[Letter | None, Letter | None] = StateKey.replace("last", Letter | None, initial=None)  # type: ignore[arg-type]  # a union
COUNT = StateKey.replace("count", int, initial=0)
DIES_AT = "dies"
LONG = "ä€𝄞 \u2028 " * 40


def letters() -> Any:
    """plan fans letters out to write; some ask a person. sign and stamp meet at a static join; post sends what was written."""
    builder = GraphBuilder("letters", version="1")
    post, done = builder.declare("post"), builder.declare("done")
    sign, stamp = builder.declare("sign"), builder.declare("stamp")
    decide = builder.declare_resume("decide", question=Doubt, answer=Verdict)
    written = builder.dynamic_join("written", post)

    @builder.node("write", writes=(LOG, SENT), routes=decide)
    async def write(letter: Letter, context: RunContext) -> Command | Suspend[Doubt, Verdict]:
        context.emit("wrote", {"to": letter.to, "pages": letter.pages})
        if letter.to == DIES_AT and os.environ.get("LETTERS_DIE"):
            while not os.environ.get("LETTERS_STORED"):  # noqa: ASYNC110 - the other end is a count in a file
                await asyncio.sleep(0.01)
            os._exit(9)
        if letter.text.endswith("?"):
            return Suspend(Doubt(letter=letter, why="it asks"), decide, Command().update(LOG, f"asked {letter.to}"))
        return Command().update(SENT, letter)

    @builder.implement(decide, writes=(LOG, SENT))
    async def decided(given: Resumed[Doubt, Verdict]) -> Command:
        verdict = f"{given.question.letter.to}: {given.answer.send} {given.answer.note}"
        return Command().update(LOG, verdict).update(SENT, given.question.letter)

    @builder.node("plan", writes=(LOG, COUNT, LAST), routes=(write, written, sign, stamp))
    async def plan(given: list[Letter], state: ThreadState) -> Command | Block:
        if any("secret" in one.text for one in given):
            return Block(Refused("a secret"), Command().update(LOG, "refused"))
        command = Command().update(COUNT, state[COUNT] + len(given)).update(LAST, given[-1])
        return command.fan_out(written, write, given).goto(sign).goto(stamp)

    @builder.implement(sign, writes=LOG)
    async def signed() -> Command:
        return Command().update(LOG, "signed")

    @builder.implement(stamp, writes=LOG)
    async def stamped() -> Command:
        return Command().update(LOG, "stamped")

    @builder.implement(post, writes=LOG)
    async def posted(state: ThreadState) -> Command:
        return Command().update(LOG, f"posted {[one.to for one in state[SENT]]}")

    @builder.implement(done, writes=(LOG, LAST))
    async def ended() -> Command:
        return Command().remove(LAST).update(LOG, "done")

    builder.static_join("ready", [sign, stamp], done)
    return builder.compile(plan, output=lambda state: state[LOG])


def letter(to: str, text: str = "Dear all.") -> Letter:
    return Letter(to=to, text=text, pages=[1, 2])


# -- writing the file -----------------------------------------------------------------------------------------------------


async def write_threads(path: Path) -> None:
    """Every shape a thread can be left in."""
    graph = letters()
    async with SqliteCheckpointer(path) as store:
        runtime = GraphRuntime(store)

        def config(run: str, **given: Any) -> RunConfig:
            return RunConfig(run_id=run, principal="ada", **given)

        for turn in range(3):
            await runtime.run("finished", graph, [letter("ada", f"TURN {turn}"), letter("bob", LONG)], config(f"finished-{turn}"))
        asking = [letter("ada", "Why?"), letter("bob"), letter("cy", "When?")]
        waits = await runtime.run("waiting", graph, asking, config("waiting-0"))
        assert isinstance(waits, Suspended)
        await (await runtime.resume("waiting", graph, {waits.interrupts[0].id: {"send": True, "note": LONG}}, config("waiting-1")))
        held = RunConfig(run_id="held-0", interrupt_before=frozenset({"stamp", "write"}), interrupt_after=frozenset({"sign"}))
        await runtime.run("held", graph, asking, held)
        first = (await runtime.history("finished", limit=100))[-1]
        await runtime.fork("finished", first.id, "forked")
        latest = (await runtime.history("waiting"))[0]
        await runtime.fork("waiting", latest.id, "edited")
        edited = (await runtime.history("edited"))[0]
        await runtime.update_state("edited", graph, edited.id, Command().update(LOG, "by hand").update(COUNT, 99))
        await runtime.seed("seeded", graph, Command().update(LOG, "from elsewhere").update(SENT, letter("dee")))
        await runtime.run("blocked", graph, [letter("ada")], config("blocked-0"))
        with contextlib.suppress(Refused):
            await runtime.run("blocked", graph, [letter("bob", "a secret")], config("blocked-1"))
        for turn in range(4):
            await runtime.run("pruned", graph, [letter("ada", f"TURN {turn}")], config(f"pruned-{turn}"))
        await store.prune("pruned", RetentionPolicy(max_checkpoints=3, max_events=5))
        await runtime.aclose()
    await asyncio.to_thread(_die_in_another_process, path)


def _die_in_another_process(path: Path) -> None:
    code = "import asyncio, sys; from tests.histories import letters; asyncio.run(letters.die(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(path)], env={**os.environ, "LETTERS_DIE": "1"}, check=False, timeout=120)
    assert done.returncode == 9


async def die(path: str) -> None:
    """A run that ends with its process: one sibling's result is stored, one asks, one never ends."""
    async with SqliteCheckpointer(path) as store:
        runtime = GraphRuntime(store)
        config = RunConfig(run_id="unfinished-0")
        handle = await runtime.start("unfinished", letters(), [letter("ada"), letter("bob", "Why?"), letter(DIES_AT)], config)
        while (await store.head("unfinished")).write_count < 4:  # noqa: ASYNC110 - two letters, sign and stamp
            await asyncio.sleep(0.01)
        os.environ["LETTERS_STORED"] = "1"
        await handle


# -- reading it -----------------------------------------------------------------------------------------------------------


async def read_threads(store: Checkpointer) -> dict[str, Any]:
    """All that a store tells of its threads, as JSON."""
    graph, found = letters(), {}
    for summary in await store.threads(limit=100):
        id = summary.thread_id
        history = await store.history(id, limit=100)
        latest, floor = await store.latest(id), await store.compact_events(id, 0)
        assert latest is not None
        found[id] = {
            "summary": [summary.graph_id, summary.status.value, summary.created_at.isoformat(), summary.updated_at.isoformat()],
            "waiting": [[one.id, json.loads(one.record)] for one in summary.waiting],
            "writes": [[write.task_id, write.node_id, json.loads(write.body)] for write in latest.writes],
            "history": [
                {
                    "id": one.id,
                    "parent": one.parent_id,
                    "run": one.run_id,
                    "status": one.status.value,
                    "superstep": one.superstep,
                    "at": one.created_at.isoformat(),
                    "body": json.loads(one.header.body),
                    "journal": json.loads(one.header.journal),
                    "snapshot": graph.snapshot(graph.restore(one)),
                }
                for one in history
            ],
            "events": [
                [record.sequence, record.run_id, record.checkpoint_id, record.task_id, record.node_id, event_to_json(record.event)]
                for record in await store.events_after(id, floor - 1)
            ],
        }
    return json.loads(json.dumps(found))


async def _written(path: Path) -> None:
    await write_threads(path)
    async with SqliteCheckpointer(path) as store:
        found = await read_threads(store)
    path.with_suffix(".json").write_text(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_written(Path(sys.argv[1]) / "format-1.db"))

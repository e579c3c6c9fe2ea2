"""What a checkpoint tells of the tasks it committed (R6.3)."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, StateKey, task_records

from .graphs import LOG


class Note:
    """Texts long enough that storing them twice would show."""

    LONG = "long " * 40


async def test_a_checkpoint_tells_what_its_tasks_did_without_storing_items_twice(runtime: GraphRuntime, store: Checkpointer) -> None:
    """api.md: input, updates and routes of each task, for a timeline; D17: an appended item is stored once."""
    records = StateKey("records", list[dict[str, str]], list[Any], initial=[], reduce=lambda now, how: [*now, *how[1:]])
    builder = GraphBuilder("g", version="1")

    @builder.node("next", writes=LOG)
    async def following(text: str) -> Command:
        return Command().update(LOG, text)

    @builder.node("start", writes=[LOG, records])
    async def start(text: str) -> Command:
        return (
            Command().update(LOG, text).update(records, ["add", {"text": text}]).send(following, text + "!").remove(LOG).update(LOG, text)
        )

    graph = builder.compile(start, output=lambda state: state[LOG])
    await runtime.run("t", graph, Note.LONG)
    closing, third, second, claim = await runtime.history("t")
    assert task_records(closing, third) == ()
    (one,) = task_records(second, claim)
    assert (one.task_id, one.node_id, one.ending, one.input) == ("0.0", "start", "completed", Note.LONG)
    assert [update["key"] for update in one.updates] == ["log", "records", "log", "log"]
    assert one.updates[1]["value"] == ["add", {"text": Note.LONG}]
    assert one.updates[2] == {"key": "log", "remove": True}
    assert one.updates[3]["value"] == Note.LONG
    assert one.routes == ({"node": "next", "tasks": ["1.0"]},)
    (two,) = task_records(third, second)
    assert two.input == Note.LONG + "!"
    assert two.updates == ({"key": "log", "value": Note.LONG + "!"},)
    assert Note.LONG.encode() not in third.header.journal
    assert second.header.journal.count(Note.LONG.encode()) == 1  # the update that was removed again is nowhere else

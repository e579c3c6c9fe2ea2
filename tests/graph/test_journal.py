"""What a checkpoint tells of the tasks it committed (R6.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


_ODD = {",": "," + "1," * 40}
"""A list item whose JSON text can also be read from within a string on: `["{",":",1,1,` and so on."""


@pytest.mark.parametrize(
    ("update", "shortened"),
    [
        (["{", ":", *[1] * 40, "}"], False),
        (['{"', _ODD], True),
        (['a "quoted" text \\\\', {"in": [_ODD]}], True),
        ([json.dumps(_ODD), 1], False),
        (["x", _ODD, _ODD], True),
        ([{"$item": 0}, _ODD], False),
    ],
)
async def test_a_journal_gives_an_update_back_whatever_is_in_it(runtime: GraphRuntime, update: list[Any], shortened: bool) -> None:
    """D17: what is a list item now is referred to, and nothing else is taken for it."""
    records = StateKey("records", list[dict[str, str]], list[Any], initial=[], reduce=lambda now, how: [*now, _ODD])
    builder = GraphBuilder("g", version="1")

    @builder.node("start", writes=records)
    async def start() -> Command:
        return Command().update(records, update)

    await runtime.run("t", builder.compile(start, output=lambda _: None), None)
    _, after, claim = await runtime.history("t")
    (one,) = task_records(after, claim)
    assert one.updates == ({"key": "records", "value": update},)
    assert (b'{"$item":0}' in after.header.journal and {"$item": 0} not in update) is shortened

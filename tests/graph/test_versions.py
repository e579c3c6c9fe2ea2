"""Schema versions of what is stored, and the parts of a graph's version (R1.38, D14, FMT)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import DecodeError, NodeFailed, RestoreRejected
from llm4s_notebook.graph import Command, CompiledGraph, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, Suspended
from llm4s_notebook.graph._codec import Codec
from llm4s_notebook.graph._reuse import upgraded_update

from .graphs import LOG, output


def parted(version: str, parts: dict[str, str]) -> CompiledGraph[None, list[str]]:
    builder = GraphBuilder("g", version=version, parts=parts)

    @builder.node("start", writes=LOG)
    async def start() -> Command:
        return Command().update(LOG, version)

    return builder.compile(start, output=lambda state: state[LOG])


async def test_a_refusal_says_which_part_of_the_version_changed(runtime: GraphRuntime, store: Checkpointer) -> None:
    """D14: stored once per thread; with a fixed version the same change is no problem, and the new parts are stored."""
    await runtime.run("t", parted("1", {"prompt": "a", "tool deploy": "b", "tool old": "c"}), None)
    with pytest.raises(RestoreRejected) as caught:
        await runtime.run("t", parted("2", {"prompt": "a", "tool deploy": "x", "tool new": "d"}), None)
    assert caught.value.problems == (
        "it was stored by graph version '1', this graph has '2'",
        "changed: tool deploy",
        "added: tool new",
        "removed: tool old",
    )
    assert "version" in caught.value.next_step
    assert output(await runtime.run("t", parted("1", {"prompt": "z"}), None)) == ["1", "1"]
    with pytest.raises(RestoreRejected) as caught:
        await runtime.run("t", parted("3", {"prompt": "y"}), None)
    assert "changed: prompt" in caught.value.problems
    assert len(caught.value.problems) == 2


def test_a_value_is_upgraded_step_by_step() -> None:
    """FMT-01, R1.38."""
    codec: Codec[dict[str, int]] = Codec(
        dict[str, int], version=3, migrations={1: lambda old: {"n": old}, 2: lambda old: {**old, "m": old["n"] * 2}}
    )
    assert codec.upgrade(b"5", 1) == b'{"n":5,"m":10}'
    assert codec.upgrade(b'{"n":5}', 2) == b'{"n":5,"m":10}'
    assert codec.upgrade(b'{"n":5,"m":1}', 3) == b'{"n":5,"m":1}'


@pytest.mark.parametrize("version", [4, 0, -1, True, "1", None, 1])
def test_what_cannot_be_upgraded_names_the_versions(version: Any) -> None:
    """FMT-02: newer, zero, no number, a missing step, a step that raises."""
    codec: Codec[int] = Codec(int, version=3, migrations={2: lambda old: old / 0})
    with pytest.raises(DecodeError):
        codec.upgrade(b"5", version)
    with pytest.raises(DecodeError, match="from schema version 2 raised ZeroDivisionError"):
        codec.upgrade(b"5", 2)


def versioned(version: int) -> tuple[CompiledGraph[Any, Any], StateKey[Any, Any]]:
    """Version 1: words as text; version 2: words as objects. An input and a question change the same way."""
    declared: Any = str if version == 1 else dict[str, str]
    steps = {1: lambda old: [{"w": one} for one in old]}
    words: StateKey[Any, Any] = StateKey.appending("words", declared, version=version, migrations=steps if version > 1 else {})
    wrap = {1: lambda old: {"w": old}} if version > 1 else {}

    def make(text: str) -> Any:
        return text if version == 1 else {"w": text}

    builder = GraphBuilder("g", version="1")
    ask = builder.declare_resume("ask", question=declared, answer=bool, version=version, migrations=wrap)

    @builder.implement(ask, writes=words)
    async def answered(given: Resumed[Any, bool]) -> Command:
        return Command().update(words, given.question)

    @builder.node("worker", writes=words, input=declared, version=version, migrations=wrap)
    async def worker(given: Any) -> Command | Suspend[Any, bool]:
        if given == make("ask"):
            return Suspend(given, ask)
        if given == "fails":
            raise ValueError
        return Command().update(words, given)

    @builder.node("start", writes=words)
    async def start(items: list[str]) -> Command:
        command = Command().update(words, make("start"))
        for item in items:
            command = command.send(worker, make(item))
        return command

    return builder.compile(start, output=lambda state: state[words]), words


async def test_a_thread_is_taken_up_under_newer_schemas(runtime: GraphRuntime, another: Any, store: Checkpointer) -> None:
    """R1.38, R1.35: state, pending inputs, recorded writes and parked questions written under version 1; and read again after that."""
    old, _ = versioned(1)
    with pytest.raises(NodeFailed):
        await runtime.run("t", old, ["a", "ask", "fails"])
    new, words = versioned(2)
    held = await (await another().recover("t", new))
    assert isinstance(held, Suspended)
    assert held.state[words] == [{"w": "start"}, {"w": "a"}, {"w": "fails"}]
    assert held.interrupts[0].question == {"w": "ask"}
    third, words = versioned(2)
    done = await (await another().resume("t", third, {"1.1": True}))
    assert output(done) == [{"w": "start"}, {"w": "a"}, {"w": "fails"}, {"w": "ask"}]
    latest = await store.latest("t")
    assert latest is not None
    assert third.restore(latest.checkpoint).state[words] == output(done)
    with pytest.raises(RestoreRejected, match="schema version 2"):
        await another().run("t", versioned(1)[0], [])


async def test_parked_questions_are_upgraded_when_they_are_shown(runtime: GraphRuntime, another: Any) -> None:
    """R1.38."""
    await runtime.run("t", versioned(1)[0], ["ask"])
    new, _ = versioned(2)
    pending = await another().pending("t", new)
    assert pending is not None
    assert pending.interrupts[0].question == {"w": "ask"}
    assert output(await (await another().resume("t", new, {"1.0": False}))) == [{"w": "start"}, {"w": "ask"}]


def test_a_recorded_update_is_upgraded_as_its_key_says() -> None:
    """R1.38: of an appending key as a list of one, of a replaced one as its value; of a custom update not at all."""
    steps = {1: lambda old: [one.upper() for one in old]}
    appending = StateKey.appending("a", str, version=2, migrations=steps)
    assert upgraded_update(appending, b'"x"', 1) == b'"X"'
    replaced = StateKey.replace("r", str, initial="", version=2, migrations={1: lambda old: old + "!"})
    assert upgraded_update(replaced, b'"x"', 1) == b'"x!"'
    custom: StateKey[list[str], int] = StateKey("c", list[str], int, initial=[], reduce=lambda now, n: now, version=2, migrations=steps)
    with pytest.raises(DecodeError):
        upgraded_update(custom, b"1", 1)
    doubling = StateKey.appending("d", str, version=2, migrations={1: lambda old: old * 2})
    with pytest.raises(DecodeError):
        upgraded_update(doubling, b'"x"', 1)

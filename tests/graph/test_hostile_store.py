"""Whatever stands in a store, taking a thread up ends in a clear refusal, and nothing is changed, imported or run (6.8, D7, R6.39)."""

from __future__ import annotations

import builtins
import contextlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Append, CheckpointDraft, Checkpointer, CheckpointStatus, Commit, PatchOp, PendingWrite, Set, Unset
from llm4s_notebook.errors import DecodeError, Llm4sError, NodeFailed, RestoreRejected, RunCrashed
from llm4s_notebook.graph import Breakpoint, GraphRuntime, task_records

from .graphs import Fan, fan, trace

HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "cut off": b'{"node":"work',
    "no utf-8": b'"\xff\xfe"',
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "huge float": b"1e999999",
    "huge integer": b"9" * 6_000,
    "lone surrogate": b'"\\ud800"',
    "not a number": b"NaN",
    "null": b"null",
    "a number": b"5",
    "a list": b'[1,{"node":"worker"}]',
    "an empty object": b"{}",
    "wrong kinds": b'{"node":{"a":1},"input":1,"question":[],"join":[],"task":{},"expected":[[]],"origin_task":5,"slot_join":[]}',
    "wrong versions": b'{"node":"worker","input":"a","version":{},"question":"a","passed":[],"replay":5,"phase":{"a":[]},"routes":{}}',
    "a name to load": b'{"node":"os.system","input":"echo","py/object":"os.system","__reduce__":["os.system",["true"]]}',
}
PLACES = [
    ("state", "items"),
    ("state", "os.system"),
    ("task", "9.9"),
    ("parked", "9.9"),
    ("activation", "0.0:work"),
    ("arrivals", "0.0:work"),
    ("meta", "birth"),
    ("meta", "keys"),
    ("meta", "parts"),
]


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Any import statement that would load a module fails, and nothing is compiled, evaluated or unpickled."""
    loaded = set(sys.modules)
    kept = {name: getattr(builtins, name) for name in ("exec", "eval", "compile")}

    class Nothing:
        def find_spec(self, name: str, *_: object) -> None:
            raise AssertionError(f"module {name} is imported while a thread is read")

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("code is run while a thread is read")

    finder = Nothing()
    sys.meta_path.insert(0, finder)  # type: ignore[arg-type]  # all it needs is find_spec
    for name in kept:
        setattr(builtins, name, refused)
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(builtins, name, function)
        sys.meta_path.remove(finder)  # type: ignore[arg-type]
    assert set(sys.modules) == loaded


async def planted(store: Checkpointer, *patch: PatchOp, status: CheckpointStatus | None = None, body: bytes | None = None) -> None:
    """A checkpoint on top of the latest one with something in it that no runtime writes."""
    latest = await store.latest("t")
    assert latest is not None
    header = latest.checkpoint.header
    made = header.replaced(id="hostile/1", parent_id=header.id, status=status or header.status, body=header.body if body is None else body)
    claim = await store.claim("t", "somebody", 30)
    await store.commit("t", Commit(token=claim.token, checkpoints=(CheckpointDraft(made, patch),), release=True))


async def held_thread(runtime: GraphRuntime) -> Fan:
    """A thread with an open activation of which one child has arrived, and one that asks."""
    made = fan()
    await runtime.run("t", made.graph, ["a", "ask", "b"])
    made.ran.clear()
    return made


async def everything_refused(runtime: GraphRuntime, store: Checkpointer, made: Fan) -> None:
    """Every way to take the thread up is refused or works; refused ones say what, where and what next, and change nothing."""
    before = await trace(store)
    status = (await store.head("t")).status
    refusals: list[Llm4sError] = []
    with nothing_imported():
        for call in (
            lambda: runtime.pending("t", made.graph),
            lambda: runtime.recover("t", made.graph) if status is CheckpointStatus.RUNNING else runtime.start("t", made.graph, ["x"]),
            lambda: runtime.resume("t", made.graph, {"no such id": Breakpoint.proceed}),
        ):
            try:
                given: Any = await call()
                if hasattr(given, "ended"):
                    await given.ended()
            except Llm4sError as error:
                refusals.append(error)
        for checkpoint in await runtime.history("t"):
            with contextlib.suppress(RestoreRejected):
                made.graph.restore(checkpoint)
        summaries = await store.threads()
    assert len(summaries) == 1
    assert refusals
    for refusal in refusals:
        assert not isinstance(refusal, RunCrashed), refusal
        assert refusal.what
        assert len(str(refusal)) < 20_000
    if any(isinstance(error, RestoreRejected) for error in refusals):
        assert await trace(store) == before
        assert not made.ran


@pytest.mark.parametrize("place", PLACES, ids="/".join)
@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_entry_is_refused_by_name(
    runtime: GraphRuntime, another: Any, store: Checkpointer, place: tuple[str, str], content: str
) -> None:
    """R6.39, D7: as one value and as an item of a list, on a waiting thread and on one that was left behind."""
    made = await held_thread(runtime)
    data = HOSTILE[content]
    await planted(store, Set(*place, data))
    await everything_refused(another(), store, made)


@pytest.mark.parametrize("place", PLACES, ids="/".join)
@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_list_item_is_refused_by_name(
    runtime: GraphRuntime, another: Any, store: Checkpointer, place: tuple[str, str], content: str
) -> None:
    """R6.39, D7: the same in a list, on a thread whose run was left behind."""
    made = await held_thread(runtime)
    await planted(store, Unset(*place), Append(*place, (HOSTILE[content],)), status=CheckpointStatus.RUNNING)
    await everything_refused(another(), store, made)


@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_header_is_refused(runtime: GraphRuntime, another: Any, store: Checkpointer, content: str) -> None:
    """R6.39: what the graph keeps in a header is read as carefully as an entry."""
    made = await held_thread(runtime)
    await planted(store, body=HOSTILE[content])
    await everything_refused(another(), store, made)


@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_recorded_result_is_refused(runtime: GraphRuntime, another: Any, store: Checkpointer, content: str) -> None:
    """R6.40: a pending write is checked like everything else."""
    made = fan()
    made.failing.add("b")
    with pytest.raises(NodeFailed):
        await runtime.run("t", made.graph, ["a", "b"])
    made.ran.clear()
    head = await store.head("t")
    assert head.checkpoint_id is not None
    claim = await store.claim("t", "somebody", 30)
    write = PendingWrite(head.checkpoint_id, "1.1", "worker", HOSTILE[content])
    await store.commit("t", Commit(token=claim.token, writes=(write,), release=True))
    with nothing_imported(), pytest.raises(RestoreRejected) as caught:
        await another().recover("t", made.graph)
    assert any("1.1" in problem for problem in caught.value.problems)
    assert not made.ran
    assert (await store.head("t")).claim is None


@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_header_is_not_forked(runtime: GraphRuntime, store: Checkpointer, content: str) -> None:
    """R6.32: a fork copies what it can read, or makes nothing."""
    await held_thread(runtime)
    await planted(store, body=HOSTILE[content])
    at = (await store.head("t")).checkpoint_id
    assert at is not None
    if content in ("an empty object", "wrong kinds", "wrong versions", "a name to load"):
        await runtime.fork("t", at, "u")
        return
    with pytest.raises(RestoreRejected, match="body"):
        await runtime.fork("t", at, "u")
    assert await store.latest("u") is None


@pytest.mark.parametrize("content", list(HOSTILE))
async def test_a_hostile_journal_is_said(runtime: GraphRuntime, store: Checkpointer, content: str) -> None:
    """D7: the timeline of a checkpoint that somebody else wrote is refused as a whole, naming the checkpoint."""
    await held_thread(runtime)
    newest = (await runtime.history("t"))[0]
    changed = replace(newest, header=newest.header.replaced(journal=HOSTILE[content]))
    if content == "an empty object":
        assert task_records(changed) == ()
        return
    with nothing_imported(), pytest.raises(DecodeError, match=newest.id):
        task_records(changed)

"""Keys and thread state (STA, R1.13-R1.19)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, ConfigDict

from llm4s_notebook.checkpoint import Set, Unset, apply_patch
from llm4s_notebook.errors import EncodeError, StateUpdateFailed, UnknownStateKey
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, RunConfig, StateKey, ThreadState
from llm4s_notebook.graph._check import encode_operation
from llm4s_notebook.graph._frozen import is_shareable
from llm4s_notebook.graph._state import Slots, apply_writes, entry_of

from .graphs import drive, output

N = StateKey.replace("n", int, initial=3)
L = StateKey.appending("l", str)
KEYS: dict[str, StateKey[Any, Any]] = {"n": N, "l": L}


def applied(slots: Slots, command: Command, keys: dict[str, StateKey[Any, Any]] = KEYS) -> Slots:
    """The slots after the command; checks that the patch brings a store to the same place."""
    entries = {("state", id): entry_of(keys[id], slot) for id, slot in slots.items()}
    result = apply_writes(keys, slots, [encode_operation(one) for one in command.updates])
    apply_patch(entries, result.patch)
    assert entries == {("state", id): entry_of(keys[id], slot) for id, slot in result.slots.items()}
    return result.slots


def state(slots: Slots, keys: dict[str, StateKey[Any, Any]] = KEYS) -> ThreadState:
    return ThreadState(keys, slots)


def test_unwritten_keys_have_their_initial_value_and_are_not_set() -> None:
    """STA-01, R1.17."""
    empty = state({})
    assert (empty[N], empty[L]) == (3, [])
    assert not empty.is_set(N)
    assert not empty.is_set(L)
    assert list(empty.items()) == []


def test_combined_commands_apply_one_after_the_other() -> None:
    """STA-03, R1.18."""
    both = Command().update(L, "a").update(N, 1).combine(Command().update(L, "b").update(N, 2))
    after = state(applied({}, both))
    assert (after[L], after[N]) == (["a", "b"], 2)
    assert dict(after.items()) == {"n": 2, "l": ["a", "b"]}


@pytest.mark.parametrize("before", [[], ["x", "y"]])
def test_an_update_after_a_removal_starts_from_the_initial_value(before: list[str]) -> None:
    """STA-04, R1.18."""
    start: Slots = {}
    for item in before:
        start = applied(start, Command().update(L, item))
    slots = applied(start, Command().update(L, "a").remove(L).update(L, "b"))
    assert state(slots)[L] == ["b"]
    assert state(slots).is_set(L)
    gone = applied(slots, Command().remove(L))
    assert state(gone)[L] == []
    assert not state(gone).is_set(L)
    assert not state(applied(slots, Command().update(L, "c").remove(L))).is_set(L)


def test_a_key_that_is_not_registered_is_unknown() -> None:
    """STA-06, STA-07, R1.16, D1: also an unequal key of a registered id; an equal one is the key."""
    for key in (StateKey.replace("m", int, initial=0), StateKey.replace("n", int, initial=4), StateKey.replace("n", float, initial=3.0)):
        with pytest.raises(UnknownStateKey) as caught:
            state({})[key]
        assert caught.value.key == key.id
        assert not state({}).is_set(key)
    assert state({})[StateKey.replace("n", int, initial=3)] == 3


async def test_writing_an_unregistered_key_is_refused_in_memory_too() -> None:
    """STA-06: from outside a run, by the id."""
    from llm4s_notebook.graph._history import bind_known

    builder = GraphBuilder("g", version="1")

    async def nothing() -> None: ...

    graph = builder.compile(builder.node("a", writes=N)(nothing), output=lambda _: None)
    with pytest.raises(UnknownStateKey) as caught:
        bind_known(graph.plan, Command().update(L, "x"))
    assert caught.value.key == "l"


class Mutable(BaseModel):
    names: list[str] = []


async def test_a_node_that_changes_what_it_read_changes_nothing(runtime: GraphRuntime) -> None:
    """STA-08: neither the list, nor an item of it, nor a model; nor does keeping an update and changing it later."""
    models = StateKey.appending("models", Mutable)
    one = StateKey.replace("one", Mutable, initial=Mutable(names=["initial"]))
    table = StateKey.replace("table", dict[str, list[int]], initial={})
    builder = GraphBuilder("g", version="1")
    second = builder.declare("second")
    third = builder.declare("third")
    kept = Mutable(names=["kept"])

    @builder.node("first", writes=[models, one, table, L])
    async def first() -> Command:
        return Command().update(models, kept).update(one, kept).update(table, {"a": [1]}).update(L, "x").goto(second)

    @builder.implement(second)
    async def spoil(state: ThreadState) -> Command:
        kept.names.append("changed after it was handed over")
        state[models].clear()
        state[models].append(Mutable())
        state[one].names.append("spoilt")
        state[table]["a"].append(2)
        state[L].clear()
        assert state[L] == []  # its own view
        return Command().goto(third)

    @builder.implement(third)
    async def spoil_items(state: ThreadState) -> None:
        assert state[models] == [Mutable(names=["kept"])]
        state[models][0].names.clear()

    graph = builder.compile(first, output=lambda state: (state[models], state[one], state[table], state[L]))
    for run in (lambda: drive(graph, graph.start(None)), lambda: runtime.run("t", graph, None)):
        kept.names[:] = ["kept"]
        assert output(await run()) == ([Mutable(names=["kept"])], Mutable(names=["kept"]), {"a": [1]}, ["x"])
    fresh = state({}, {"one": one})
    fresh[one].names.append("spoilt")
    assert state({}, {"one": one})[one].names == ["initial"]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    text: str
    inner: tuple[int, ...] = ()


class FrozenWithList(BaseModel):
    model_config = ConfigDict(frozen=True)
    items: list[int]


@dataclass(frozen=True)
class FrozenData:
    text: str
    more: dict[str, int] = field(default_factory=dict)


class Pair(NamedTuple):
    a: int
    b: str | None


@pytest.mark.parametrize(
    ("declared", "shared"),
    [
        (int, True),
        (str | None, True),
        (tuple[int, ...], True),
        (tuple[list[int], int], False),
        (frozenset[str], True),
        (Frozen, True),
        (FrozenWithList, False),
        (FrozenData, False),
        (Pair, True),
        (Mutable, False),
        (list[int], False),
        (dict[str, int], False),
        (Any, False),
        (object, False),
        (Annotated[Frozen, []], True),
        (Annotated[list[int], []], False),
    ],
)
def test_only_values_that_cannot_change_are_shared(declared: Any, shared: bool) -> None:
    """D17: frozen models and dataclasses, strings, numbers, tuples of these; whenever it is asked, and of unhashable annotations too."""
    assert is_shareable(declared) is shared
    assert is_shareable(declared) is shared


def test_frozen_items_are_shared_between_readers() -> None:
    """D17: reading a list again copies the list, not its items."""
    key = StateKey.appending("f", Frozen)
    slots = applied({}, Command().update(key, Frozen(text="a")), {"f": key})
    first, second = state(slots, {"f": key})[key], state(slots, {"f": key})[key]
    assert first is not second
    assert first[0] is second[0]


@pytest.mark.parametrize("kind", [Frozen, Mutable, str])
def test_a_list_key_with_its_own_reduce_costs_only_what_changed(kind: Any) -> None:
    """D17: items that stay in their place are not written again, for shared and for copied items."""
    make = {Frozen: lambda x: Frozen(text=x), Mutable: lambda x: Mutable(names=[x]), str: str}[kind]

    def reduce(now: list[Any], how: list[Any]) -> list[Any]:
        match how:
            case ["add", x]:
                return [*now, make(x)]
            case ["edit", i, x]:
                return [*now[:i], make(x), *now[i + 1 :]]
            case ["cut", n]:
                return now[:n]
            case _:
                return [make("new"), *now]

    key: StateKey[Any, Any] = StateKey("g", list[kind], list[Any], initial=[], reduce=reduce)
    keys = {"g": key}

    def step(slots: Slots, *hows: list[Any]) -> tuple[Slots, list[str]]:
        command = Command()
        for how in hows:
            command = command.update(key, how)
        result = apply_writes(keys, slots, [encode_operation(one) for one in command.updates])
        assert applied(slots, command, keys) == result.slots
        return result.slots, [type(op).__name__ for op in result.patch]

    slots, ops = step({}, *[["add", str(n)] for n in range(6)])
    assert ops == ["Append"]
    slots, ops = step(slots, ["add", "6"])
    assert ops == ["Append"]
    slots, ops = step(slots, ["edit", 1, "one"])
    assert ops == ["Replace"]
    slots, ops = step(slots, ["edit", 2, "two"], ["add", "7"])
    assert ops == ["Replace", "Append"]
    assert state(slots, keys)[key] == [make(x) for x in ("0", "one", "two", "3", "4", "5", "6", "7")]
    slots, ops = step(slots, ["cut", 3])
    assert ops == ["Truncate"]
    slots, ops = step(slots, ["front"])
    assert state(slots, keys)[key] == [make(x) for x in ("new", "0", "one", "two")]
    slots, ops = step(slots, ["cut", 9])
    assert ops == []
    slots, ops = step(slots, ["cut", 0])
    assert state(slots, keys).is_set(key)
    assert state(slots, keys)[key] == []


def test_an_unchanged_value_writes_nothing() -> None:
    """D17."""
    key = StateKey.replace("k", dict[str, int], initial={})
    result = apply_writes({"k": key}, {}, [encode_operation(one) for one in Command().update(key, {"a": 1}).updates])
    assert result.patch == [Set("state", "k", b'{"a":1}')]
    again = apply_writes({"k": key}, result.slots, [encode_operation(one) for one in Command().update(key, {"a": 1}).updates])
    assert again.patch == []
    gone = apply_writes({"k": key}, result.slots, [encode_operation(one) for one in Command().remove(key).updates])
    assert gone.patch == [Unset("state", "k")]


def test_a_keys_update_may_be_of_another_type_than_its_value() -> None:
    """R1.13, D4: each is checked as its own, and an update of the value's type is none."""
    key: StateKey[list[int], str] = StateKey("sizes", list[int], str, initial=[0], reduce=lambda now, text: [*now, len(text)])
    assert state({}, {"sizes": key})[key] == [0]
    assert state(applied({}, Command().update(key, "four").update(key, ""), {"sizes": key}), {"sizes": key})[key] == [0, 4, 0]
    with pytest.raises(EncodeError):
        encode_operation(Command().update(key, [1]).updates[0])  # type: ignore[arg-type]


def test_the_two_ready_made_keys() -> None:
    """R1.14: of replace the last update is the value, of appending each is added at the end of a list that starts empty."""
    replaced, added = StateKey.replace("r", int, initial=7), StateKey.appending("a", int)
    keys: dict[str, StateKey[Any, Any]] = {"r": replaced, "a": added}
    assert (state({}, keys)[replaced], state({}, keys)[added]) == (7, [])
    slots = applied({}, Command().update(replaced, 1).update(added, 1).update(replaced, 2).update(added, 2), keys)
    slots = applied(slots, Command().update(added, 1), keys)
    assert (state(slots, keys)[replaced], state(slots, keys)[added]) == (2, [1, 2, 1])


async def test_nothing_goes_round_a_keys_reduce_function(runtime: GraphRuntime) -> None:
    """R1.15: neither the only node that writes it, nor a seed, an edit as that node or as nobody, nor giving a turn up."""
    most = StateKey("most", int, int, initial=3, reduce=max)
    builder = GraphBuilder("g", version="1")

    @builder.node("only", writes=most)
    async def only(n: int) -> Command:
        return Command().update(most, n)

    graph = builder.compile(only, output=lambda state: state[most])
    assert output(await runtime.run("t", graph, 5)) == 5
    assert output(await runtime.run("t", graph, 1)) == 5
    for node in (only, None):
        at = (await runtime.history("t"))[0].id
        await runtime.update_state("t", graph, at, Command().update(most, 2), as_node=node)
    assert output(await runtime.run("t", graph, 4)) == 5
    await runtime.run("t", graph, 6, RunConfig(interrupt_before="only"))
    await runtime.abandon("t", graph, Command().update(most, 4))
    assert graph.restore((await runtime.history("t"))[0]).state[most] == 5
    await runtime.seed("u", graph, Command().update(most, 1))
    assert graph.restore((await runtime.history("u"))[0]).state[most] == 3


def test_a_rejected_update_names_the_key_and_changes_nothing() -> None:
    """R1.19."""

    def positive(now: int, by: int) -> int:
        if by < 0:
            raise ValueError("negative")
        return now + by

    key = StateKey("sum", int, int, initial=0, reduce=positive)
    with pytest.raises(StateUpdateFailed) as caught:
        applied({}, Command().update(key, 1).update(key, -1), {"sum": key})
    assert caught.value.key == "sum"
    assert isinstance(caught.value.cause, ValueError)


def test_a_reduce_function_that_returns_another_type_is_rejected() -> None:
    """R1.19, D4: what it returns is checked like every value that is stored."""
    for returned in ("text", None, [1]):
        key: StateKey[Any, Any] = StateKey("k", int, int, initial=0, reduce=lambda now, by, returned=returned: returned)
        with pytest.raises(StateUpdateFailed):
            applied({}, Command().update(key, 1), {"k": key})
    listed: StateKey[Any, Any] = StateKey("k", list[int], int, initial=[], reduce=lambda now, by: (1,))
    with pytest.raises(StateUpdateFailed):
        applied({}, Command().update(listed, 1), {"k": listed})


@pytest.mark.parametrize("wrong", ["x", 1.5, None, float("nan"), object(), [1]])
def test_an_update_of_another_type_is_no_update(wrong: Any) -> None:
    """D4: strict."""
    with pytest.raises(EncodeError):
        encode_operation(Command().update(N, wrong).updates[0])


def test_an_initial_value_of_another_type_is_refused() -> None:
    """D4."""
    with pytest.raises(EncodeError):
        StateKey.replace("n", int, initial="3")  # type: ignore[arg-type]

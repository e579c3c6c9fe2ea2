"""A patch's plan - what a store writes - against its meaning, `apply_patch`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm4s_notebook.checkpoint import Append, Entries, PatchOp, Replace, Set, Truncate, Unset, apply_patch, whole
from llm4s_notebook.checkpoint._shape import MISSING, VALUE, Change, Shape, plan
from llm4s_notebook.errors import InvalidCommit

names = st.sampled_from(["a", "b", "c"])
values = st.integers(0, 99).map(lambda n: str(n).encode())
ops = st.one_of(
    st.builds(Set, st.just("s"), names, values),
    st.builds(Unset, st.just("s"), names),
    st.builds(Append, st.just("s"), names, st.lists(values, max_size=3).map(tuple)),
    st.builds(Replace, st.just("s"), names, st.integers(-1, 4), values),
    st.builds(Truncate, st.just("s"), names, st.integers(-1, 4)),
)
starts: st.SearchStrategy[Entries] = st.dictionaries(st.tuples(st.just("s"), names), values | st.lists(values, max_size=4))


def applied(entries: Entries, changes: dict[tuple[str, str], Change]) -> Entries:
    """What a store makes of the plan."""
    for at, change in changes.items():
        if change.whole:
            entries.pop(at, None)
            if change.value is not None:
                entries[at] = change.value
            elif change.items is not None:
                entries[at] = list(change.items)
            continue
        entry = entries[at]
        assert isinstance(entry, list)
        del entry[change.kept :]
        for position, item in change.replaced.items():
            assert position < change.kept
            entry[position] = item
        entry.extend(change.items or [])
    return entries


def copied(entries: Entries) -> Entries:
    return {at: list(entry) if isinstance(entry, list) else entry for at, entry in entries.items()}


@given(starts, st.lists(ops, max_size=8))
def test_a_plan_has_the_effect_of_its_patch(start: Entries, patch: list[PatchOp]) -> None:
    """D17: the same entries in the same order, or the same refusal - and the plan never looks at an entry's content."""

    def shape_of(section: str, name: str) -> Shape:
        entry = start.get((section, name))
        return MISSING if entry is None else len(entry) if isinstance(entry, list) else VALUE

    expected = copied(start)
    try:
        apply_patch(expected, patch)
    except InvalidCommit:
        with pytest.raises(InvalidCommit):
            plan(patch, shape_of)
        return
    assert list(applied(copied(start), plan(patch, shape_of)).items()) == list(expected.items())


def test_what_a_patch_undoes_itself_is_not_written() -> None:
    """D17: an entry set three times is written once, one set and unset not at all, one not touched is not asked for."""
    asked: list[str] = []

    def shape_of(section: str, name: str) -> Shape:
        asked.append(name)
        return 3

    changes = plan(
        [
            Set("s", "a", b"1"),
            Set("s", "a", b"2"),
            Set("s", "gone", b"1"),
            Unset("s", "gone"),
            Append("s", "m", (b"4", b"5")),
            Truncate("s", "m", 4),
            Replace("s", "m", 3, b"four"),
            Replace("s", "m", 0, b"one"),
        ],
        shape_of,
    )
    assert asked == ["m"]
    assert changes[("s", "a")] == Change(MISSING, True, value=b"2")
    assert changes[("s", "gone")] == Change(MISSING, True)
    assert changes[("s", "m")] == Change(3, False, items=[b"four"], kept=3, replaced={0: b"one"})


@given(starts)
def test_a_whole_patch_makes_the_entries_from_nothing(start: Entries) -> None:
    """D17: what a fork is written as."""
    made: Entries = {}
    apply_patch(made, whole(start))
    assert list(made.items()) == list(start.items())


@pytest.mark.parametrize(
    "patch",
    [
        [Append("s", "v", (b"1",))],
        [Replace("s", "v", 0, b"1")],
        [Replace("s", "missing", 0, b"1")],
        [Replace("s", "m", 2, b"1")],
        [Replace("s", "m", -1, b"1")],
        [Truncate("s", "m", 3)],
        [Truncate("s", "m", -1)],
        [Truncate("s", "v", 0)],
        [Unset("s", "m"), Replace("s", "m", 0, b"1")],
        [Set("s", "m", b"1"), Append("s", "m", ())],
    ],
)
def test_an_operation_that_does_not_fit_is_refused(patch: list[PatchOp]) -> None:
    """D17: InvalidCommit, by the meaning and by the plan."""
    entries: Entries = {("s", "v"): b"1", ("s", "m"): [b"1", b"2"]}
    shapes: dict[str, Shape] = {"v": VALUE, "m": 2}
    with pytest.raises(InvalidCommit):
        apply_patch(copied(entries), patch)
    with pytest.raises(InvalidCommit):
        plan(patch, lambda _, name: shapes.get(name))

"""The corpus itself: what it says of each model is what pydantic says, and it leaves no leaf out."""

from __future__ import annotations

import pytest

from llm4s_notebook.agent import InvalidArguments

from .case import Case, leaves, missed
from .corpus import CORPUS, KINDS
from .kernel import decoded


@pytest.fixture(params=CORPUS.values(), ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_there_are_sixty_models_and_each_kind_has_some():
    """Issue 5, item 1."""
    assert len(CORPUS) == sum(len(cases) for cases in KINDS.values()), "two cases of one name"
    assert len(CORPUS) >= 60
    assert all(len(cases) >= 2 for cases in KINDS.values())


def test_the_sample_is_taken_and_so_is_every_edit(case: Case):
    """W2.9: what must arrive is what the kernel takes, and becomes what the case says."""
    decoded(case, case.sample)
    assert missed(case, decoded(case, case.edited)) == []


def test_every_leaf_of_the_sample_is_edited(case: Case):
    """One edit per leaf: the values that a constant fixes are the only ones that are not."""
    edited = [edit.path for edit in case.edits]
    fixed = {"kind", "type", "shape", "form", "version", "nothing"}
    missed = [leaf for leaf in leaves(case.sample) if not any(leaf[: len(path)] == path or path[: len(leaf)] == leaf for path in edited)]
    assert [leaf for leaf in missed if leaf[-1] not in fixed] == []


def test_the_refused_value_is_refused_at_its_place(case: Case):
    """W2.7: the kernel refuses it; other members of a union may have said something, too."""
    with pytest.raises(InvalidArguments) as refused:
        decoded(case, case.wrong)
    assert case.refused.at in [fault.path for fault in refused.value.faults]

"""Where in an answer a fault of pydantic's lies (R4.10, W2.7)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.graph import value_path

PET = {"pet": {"kind": "dog", "dog": "rex", "breed": 1}}


@pytest.mark.parametrize(
    ("value", "loc", "missing", "path"),
    [
        ({"a": {"b": 1}}, ("a", "b"), False, ("a", "b")),
        ({"a": [{"b": 1}]}, ("a", 0, "b"), False, ("a", 0, "b")),
        ({"a": 1}, ("a", "int"), False, ("a",)),
        ({"a": {}}, ("a", "Address", "street"), True, ("a", "street")),
        ({}, ("a",), True, ("a",)),
        ({"a": {"x": 1}}, ("a", "x", "[key]"), False, ("a", "x")),
        (PET, ("pet", "dog", "breed"), False, ("pet", "breed")),
        ({"pet": {"kind": "dog", "dog": "rex"}}, ("pet", "dog", "dog"), False, ("pet", "dog")),
        (PET, ("pet", "dog", "age"), True, ("pet", "age")),
        ({"a": [1]}, ("a", 3), False, ("a",)),
        ("text", ("str",), False, ()),
    ],
)
def test_members_of_unions_are_no_steps_even_where_a_field_is_called_like_one(value: Any, loc: Any, missing: bool, path: Any):
    """The way arrives at the last step where any way does."""
    assert value_path(value, loc, missing=missing) == path


def test_a_long_way_that_arrives_nowhere_is_given_up_soon():
    """Each place is looked at once for each step: a chain of forty does not take 2^40."""
    value: Any = 1
    for _ in range(40):
        value = {"next": value}
    assert value_path(value, (*["next"] * 40, "int"), missing=False) == ("next",) * 40

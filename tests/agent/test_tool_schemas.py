"""What a model is told of a function's parameters: D20, agent.md 3.1."""

from __future__ import annotations

import uuid
import warnings
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import Field

from llm4s_notebook.agent import InvalidArguments, ToolContext, tool

from .parameter_types import Address, Cat, Dog, Level, Person, Rank


def schema_of(annotation: Any, default: Any = ...) -> Any:
    """The schema of one parameter of this type; references resolved one level."""

    def made(x: Any) -> None:
        """Take x."""

    made.__annotations__["x"] = annotation
    if default is not ...:
        made.__defaults__ = (default,)
    parameters = tool(made).spec.parameters
    x = parameters["properties"]["x"]
    if "$ref" in x:
        x = {**parameters["$defs"][x["$ref"].rpartition("/")[2]], **{key: value for key, value in x.items() if key != "$ref"}}
    return x


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, None], {"enum": ["a", 1, None]}),
        (Level, {"type": "string", "enum": ["low", "high"], "title": "Level"}),
        (Rank, {"type": "integer", "enum": [1, 2], "title": "Rank"}),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045 - a way to write it under test
        (Union[int, None], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP007 - a way to write it under test
        (Annotated[int, Field(ge=1, lt=9, multiple_of=2)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2}),
        (
            Annotated[str, Field(min_length=1, max_length=3, pattern="^a")],
            {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"},
        ),
        (
            Annotated[list[int], Field(min_length=1, max_length=2)],
            {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
        ),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
        (date, {"type": "string", "format": "date"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (Any, {}),
    ],
)
def test_types_and_constraints_are_what_the_model_is_told(annotation: Any, schema: Any) -> None:
    """D20."""
    assert schema_of(annotation) == schema


def test_nested_models_are_told_with_their_descriptions() -> None:
    """D20: recursive too."""
    person = schema_of(Person)
    assert person["required"] == ["name"]
    assert person["additionalProperties"] is False
    assert person["properties"]["addresses"]["items"] == {"$ref": "#/$defs/Address"}
    assert person["properties"]["boss"]["anyOf"][0] == {"$ref": "#/$defs/Person"}
    address = schema_of(Address)
    assert address["description"] == "Where somebody lives."
    assert address["properties"]["street"] == {"type": "string", "description": "with the number"}
    pets = schema_of(Annotated[Cat | Dog, Field(discriminator="kind")])
    assert pets["discriminator"]["propertyName"] == "kind"


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (int, 3, 3),
        (Level, Level.LOW, "low"),
        (int | None, None, None),
        (date, date(2026, 1, 2), "2026-01-02"),
        (Decimal, Decimal("1.50"), "1.50"),
    ],
)
def test_a_default_is_told_and_makes_its_parameter_optional(annotation: Any, default: Any, told: Any) -> None:
    """D20, 3.3.1."""
    assert schema_of(annotation, default)["default"] == told


def test_a_default_without_json_form_is_not_told_and_used_all_the_same() -> None:
    """D20: without a warning."""
    thing = object()

    def made(x: Any = thing) -> None:
        """Take x."""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrapped = tool(made)
        assert wrapped.spec.parameters["properties"] == {"x": {}}
    assert wrapped.decode({})["x"] is not None


def test_a_field_may_stand_as_the_default() -> None:
    """D20: the other way to write a constraint."""

    @tool
    async def made(a: int = Field(3, ge=1, description="how many"), b: int = Field(ge=1)) -> None:
        """Make."""

    assert made.spec.parameters["properties"]["a"] == {"type": "integer", "default": 3, "minimum": 1, "description": "how many"}
    assert made.spec.parameters["required"] == ["b"]
    assert made.decode({"b": 2}) == {"a": 3, "b": 2}
    with pytest.raises(InvalidArguments, match=r"\$.a: 0 is below minimum 1"):
        made.decode({"a": 0, "b": 1})


GOOGLE = """Order something.

It is sent at once.

Args:
    item (str): what to order,
        in full
    count: how many

Returns:
    The order's number.

Raises:
    ValueError: when there is none.
"""


NUMPY = """Order something.

It is sent at once.

Parameters
----------
item : str
    what to order,
    in full
count : int, optional
    how many

Returns
-------
str
    The order's number.
"""


SPHINX = """Order something.

It is sent at once.

:param item: what to order,
    in full
:type item: str
:param count: how many
:returns: The order's number.
:raises ValueError: when there is none.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["Google", "NumPy", "Sphinx"])
def test_descriptions_come_from_the_docstring_whatever_its_style(text: str) -> None:
    """D20, api.md: what it returns and raises is not told."""

    async def order(item: str, count: int = 1) -> str:
        return ""

    order.__doc__ = text
    spec = tool(order).spec
    assert spec.description == "Order something.\nIt is sent at once."
    properties = spec.parameters["properties"]
    assert " ".join(properties["item"]["description"].split()) == "what to order, in full"
    assert properties["count"] == {"type": "integer", "default": 1, "description": "how many"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Weigh.\n\nParameters\n----------\nx, y : int\n    in kilograms\n", {"x": "in kilograms", "y": "in kilograms"}),
        ("\n\n    Args:\n        x: first\n        y: second\n    ", {"x": "first", "y": "second"}),
        ("Weigh.\n\nArgs:\n    `x`: quoted\n    y(int): close, {braced}: and all\n", {"x": "quoted", "y": "close, {braced}: and all"}),
        ("Weigh.\n\n:param int x: typed\n:param y: plain\n", {"x": "typed", "y": "plain"}),
        ("Weigh.\n\n@param x: epydoc\n", {"x": "epydoc", "y": None}),
        ("Weigh.\n\n\tArgs:\n\t\tx: tabbed\n", {"x": "tabbed", "y": None}),
        ("Weigh.\n\nArgs:\n    context: not an argument\n    other: nor that\n", {"x": None, "y": None}),
    ],
)
def test_a_parameter_is_described_however_its_docstring_is_laid_out(text: str, told: dict[str, str | None]) -> None:
    """D20."""

    async def weigh(x: int, y: int, context: ToolContext) -> None: ...

    weigh.__doc__ = text
    properties = tool(weigh).spec.parameters["properties"]
    assert {name: schema.get("description") for name, schema in properties.items()} == told


@pytest.mark.parametrize(
    "text", [None, "", "   ", "One line.", "Args:\n    x", ":param", "-----\n\x00", "Broken\n\nParameters\n----------\n"]
)
def test_any_docstring_makes_a_tool(text: str | None) -> None:
    """D20."""

    async def made(x: int) -> None: ...

    made.__doc__ = text
    assert tool(made).spec.parameters["properties"]["x"]["type"] == "integer"

"""Fields that are called what nobody should call a field."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from .case import Case, never, refused, write

NAMES = [
    "constructor",
    "__proto__",
    "toString",
    "hasOwnProperty",
    "length",
    "arguments",
    "reason",
    "with space",
    "with.dot",
    "with[0]",
    "a: b",
    'quo"te',
    "per%cent",
    "back\\slash",
    "🙂",
    "שלום",
    "x‮y",
    "",
    " ",
    "0",
    "x" * 80,
]


def _model(names: list[str]) -> Any:
    fields: dict[str, Any] = {f"field_{at}": (Annotated[str, never("bad")], Field(alias=name)) for at, name in enumerate(names)}
    return create_model("Names", **fields)


Names = _model(NAMES)


class Envelope(BaseModel):
    """A field that is called like the place of the arguments in a decision."""

    arguments: dict[str, Annotated[str, never("bad")]]
    value: Annotated[str, never("bad")]


CASES = [
    Case(
        "hard_names",
        Names,
        {name: "x" for name in NAMES},
        tuple(write(name, f"new {at}") for at, name in enumerate(NAMES)),
        refused(write("with.dot", "bad")),
    ),
    Case(
        "hard_names_again",
        _model(["a: b", "arguments", "__proto__"]),
        {"a: b": "1", "arguments": "2", "__proto__": "3"},
        (write("a: b", "4"), write("arguments", "5"), write("__proto__", "6")),
        refused(write("arguments", "bad")),
    ),
    Case(
        "envelope",
        Envelope,
        {"arguments": {"arguments": "x", "a.b": "y"}, "value": "z"},
        (write(("arguments", "arguments"), "1"), write(("arguments", "a.b"), "2"), write("value", "3")),
        refused(write(("arguments", "a.b"), "bad")),
    ),
]

"""Values of any shape: a JSON editor for that field only."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, Json, JsonValue

from .case import Case, never, refused, write


class Anything(BaseModel):
    anything: Any
    value: JsonValue
    loose: dict[str, Any]
    items: list[Any]
    text: Annotated[str, never("bad")] = "x"
    thing: object = None


class JsonText(BaseModel):
    """A text that holds JSON."""

    numbers: Json[list[Annotated[int, never(13)]]]
    untyped: Json[Any] = Field(default="null", validate_default=True)


CASES = [
    Case(
        "anything",
        Anything,
        {"anything": {"deep": [1, None, {"x": False}]}, "value": "text", "loose": {"a": 1}, "items": [None, {}], "thing": 0},
        (
            write("anything", '"1"', "1"),
            write("value", "[1.50]", [1.5]),
            write(("loose", "a"), "null", None),
            write(("items", 0), "{}", {}),
            write(("items", 1), '{"b": ""}', {"b": ""}),
            write("thing", "false", False),
        ),
        refused(write("text", "bad")),
    ),
    Case(
        "json_text",
        JsonText,
        {"numbers": "[1, 2]"},
        (write("numbers", "[3]", python=[3]),),
        refused(write("numbers", "[13]")),
    ),
    Case(
        "any_alone",
        Annotated[Any, never({"bad": 1})],
        [1, {"a": None}],
        (write((), '{"b": 2}', {"b": 2}),),
        refused(write((), '{"bad": 1}', {"bad": 1})),
    ),
]

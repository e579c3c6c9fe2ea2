"""What an author writes into a schema by hand, and pydantic passes on."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from .case import Case, choose, never, nothing, refused, write


class Extras(BaseModel):
    lines: str = Field(json_schema_extra={"format": "multi-line", "x-rows": 3})
    suggested: Annotated[str, never("c")] = Field(json_schema_extra={"enum": ["a", "b", "c"]})
    example: str = Field(examples=["such a text", "or another"])
    old: str = Field(default="x", deprecated=True)
    several: Any = Field(default=1, json_schema_extra={"type": ["integer", "string", "null"]})
    both: int = Field(json_schema_extra={"allOf": [{"minimum": 0}, {"maximum": 9}]})
    hidden: str = Field(default="", json_schema_extra={"readOnly": True})
    by_hand: Annotated[Any, WithJsonSchema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})]


class Wild(BaseModel):
    """Schema words that no form draws: the field is JSON, the others are not."""

    plain: Annotated[str, never("bad")]
    strange: Any = Field(default=None, json_schema_extra={"allOf": [{"type": "object"}, {"required": ["a"]}]})
    negated: Any = Field(default=None, json_schema_extra={"not": {"type": "string"}})


CASES = [
    Case(
        "extras",
        Extras,
        {
            "lines": "one\ntwo",
            "suggested": "a",
            "example": "",
            "old": "y",
            "several": 3,
            "both": 5,
            "hidden": "h",
            "by_hand": {"a": 1},
        },
        (
            write("lines", ""),
            choose("suggested", "b"),
            write("example", "x"),
            write("old", "z"),
            nothing("several"),
            write("both", "7", 7),
            write("hidden", "i"),
            write(("by_hand", "a"), "2", 2),
        ),
        refused(choose("suggested", "c")),
    ),
    Case(
        "wild",
        Wild,
        {"plain": "x", "strange": {"a": 1}, "negated": [1]},
        (write("plain", "y"), write("strange", '{"a": 2}', {"a": 2}), write("negated", "3", 3)),
        refused(write("plain", "bad")),
    ),
]

"""Null, empty and not given are three answers, and none of them is made of another (F05, F16)."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from .case import Case, add, choose, do, leave_out, never, nothing, refused, something, write


class Inner(BaseModel):
    word: str = ""
    number: int | None = 3


class Optionals(BaseModel):
    name: str | None
    nick: str | None = None
    empty: str = ""
    count: int | None = None
    sure: bool | None = None
    tags: list[str] | None = None
    inner: Inner | None = None
    checked: Annotated[str | None, never("bad")] = "fine"


class AllOptional(BaseModel):
    """Nothing is given, and nothing may be put in its place."""

    text: Annotated[str, never("bad")] = "default text"
    number: int = 7
    flag: bool = True
    items: list[int] = [1, 2]
    inner: Inner = Inner()
    maybe: str | None = "something"


class Nested(BaseModel):
    """A default of the outer model that the inner one would not have."""

    inner: Inner = Field(default_factory=lambda: Inner(word="made"), description="made anew each time")
    twice: Inner | None = Field(default=Inner(word="given"))
    note: Annotated[str, never("bad")] = ""


CASES = [
    Case(
        "optionals",
        Optionals,
        {"name": "", "nick": None, "count": 0, "sure": False, "tags": [], "inner": None, "checked": None},
        (
            nothing("name"),
            do("nick", "", something("nick"), write("nick", "x"), write("nick", "")),
            write("empty", "Ana"),
            write("count", "12", 12),
            choose("sure", "yes", True),
            nothing("tags"),
            do("inner", {}, something("inner"), add("inner"), python=Inner()),
            do("checked", "good", something("checked"), write("checked", "good")),
        ),
        refused(do("checked", "bad", something("checked"), write("checked", "bad"))),
    ),
    Case(
        "all_left_out",
        AllOptional,
        {},
        (
            do("text", "", write("text", "x"), write("text", "")),
            write("number", "0", 0),
            choose("flag", "no", False),
            do("items", [4], add("items"), write(("items", 0), "4")),
            do("inner", {"word": "w"}, add("inner"), write(("inner", "word"), "w"), python=Inner(word="w")),
            nothing("maybe"),
        ),
        refused(write("text", "bad")),
    ),
    Case(
        "nested_defaults",
        Nested,
        {"inner": {"number": None}, "twice": {}},
        (
            do(("inner", "number"), 4, something(("inner", "number")), write(("inner", "number"), "4")),
            leave_out("twice"),
        ),
        refused(write("note", "bad")),
    ),
    Case(
        "perhaps",
        Annotated[str | None, never("bad")],
        None,
        (do((), "", something(()), write((), "x"), write((), "")),),
        refused(do((), "bad", something(()), write((), "bad"))),
    ),
]

"""Models that are a value and not a group of fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, RootModel

from .case import Case, add, do, name, never, refused, write


class Words(RootModel[list[Annotated[str, never("bad")]]]):
    """A list with a name."""


class Table(RootModel[dict[str, Annotated[int, never(13)]]]):
    """A mapping with a name."""


class Percent(RootModel[Annotated[int, Field(ge=0, le=100)]]):
    """A number with a name and bounds."""


class Report(BaseModel):
    words: Words
    table: Table = Table({})
    done: Percent


CASES = [
    Case("words", Words, ["a"], (write((0,), "b"),), refused(write((0,), "bad")), takes=lambda made: made.root),
    Case("table", Table, {"a": 1}, (write("a", "2", 2),), refused(write("a", "13", 13)), takes=lambda made: made.root),
    Case(
        "report",
        Report,
        {"words": [], "done": 50},
        (
            do("words", ["w"], add("words"), write(("words", 0), "w"), python=Words(["w"])),
            do("table", {"x": 1}, name("table", "x"), write(("table", "x"), "1"), python=Table({"x": 1})),
            write("done", "100", 100, python=Percent(100)),
        ),
        refused(do("words", ["bad"], add("words"), write(("words", 0), "bad")), ("words", 0)),
    ),
]

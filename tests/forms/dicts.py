"""Named values: names that Python and JavaScript have plans of their own for, names with rules, names to choose from."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from .case import GONE, Case, choose, do, name, never, refused, refused_here, remove, write
from .nested import Address


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Dicts(BaseModel):
    counts: dict[str, Annotated[int, never(13)]]
    places: dict[str, Address] = {}
    flags: dict[str, bool] = {}
    anything: dict[str, Any] = {}


class Names(BaseModel):
    """Names are not only texts."""

    by_number: dict[int, str]
    by_colour: dict[Colour, int]
    by_word: dict[Literal["low", "high"], int] = {}
    by_pattern: dict[Annotated[str, Field(pattern="^x_")], Annotated[int, never(13)]] = {}
    one_or_two: dict[str, int] = Field(default={"a": 1}, min_length=1, max_length=2)


CASES = [
    Case(
        "dicts",
        Dicts,
        {
            "counts": {"a": 1, "": 0, "__proto__": 3, "constructor": 4, "toString": 5},
            "places": {"x.y": {"street": "A", "zip_code": "11111"}},
            "flags": {},
            "anything": {"deep": [1, None, {"x": False}]},
        },
        (
            write(("counts", "a"), "11", 11),
            write(("counts", ""), "12", 12),
            write(("counts", "__proto__"), "30", 30),
            write(("counts", "constructor"), "40", 40),
            do(("counts", "toString"), GONE, remove(("counts", "toString"))),
            write(("places", "x.y", "street"), "B"),
            write(("places", "x.y", "zip_code"), "22222"),
            do(("flags", "new one"), True, name("flags", "new one"), choose(("flags", "new one"), "yes")),
            write(("anything", "deep"), '{"a": [1.5, "x"]}', {"a": [1.5, "x"]}),
        ),
        refused(write(("counts", "__proto__"), "13", 13)),
    ),
    Case(
        "names",
        Names,
        {"by_number": {"1": "one"}, "by_colour": {"red": 1}, "by_word": {}, "by_pattern": {"x_a": 1}, "one_or_two": {"a": 1}},
        (
            write(("by_number", "1"), "uno"),
            do(("by_colour", "blue"), 2, name("by_colour", "blue"), write(("by_colour", "blue"), "2")),
            write(("by_colour", "red"), "5", 5),
            do(("by_word", "high"), 9, name("by_word", "high"), write(("by_word", "high"), "9")),
            write(("by_pattern", "x_a"), "2", 2),
            do(("one_or_two", "b"), 2, name("one_or_two", "b"), write(("one_or_two", "b"), "2")),
            write(("one_or_two", "a"), "0", 0),
        ),
        refused_here(do(("by_pattern", "bad"), 1, name("by_pattern", "bad"), write(("by_pattern", "bad"), "1"))),
    ),
    Case(
        "dict_alone",
        dict[str, Annotated[int, never(13)]],
        {"x": 1},
        (do("y z", 2, name((), "y z"), write("y z", "2")), write("x", "3", 3)),
        refused(write("x", "13", 13)),
    ),
]

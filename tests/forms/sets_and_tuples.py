"""Sets, whose values are told apart, and tuples, whose places have types of their own."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel

from .case import GONE, Case, add, do, never, refused, remove, write


class Point(NamedTuple):
    x: int
    y: Annotated[int, never(13)]
    label: str = ""


class Sets(BaseModel):
    tags: set[Annotated[str, never("bad")]]
    frozen: frozenset[int] = frozenset()


class Tuples(BaseModel):
    pair: tuple[int, str]
    many: tuple[float, ...] = ()
    point: Point


def tags(made: Any) -> Any:
    """A set has no places: only the whole can be compared."""
    return {"tags": made.tags, "frozen": made.frozen}


CASES = [
    Case(
        "sets",
        Sets,
        {"tags": ["b", "a"], "frozen": [2]},
        (
            do("tags", ["b", "c", "d"], write(("tags", 1), "c"), add("tags"), write(("tags", 2), "d"), python={"b", "c", "d"}),
            do("frozen", [3], write(("frozen", 0), "3"), python=frozenset({3})),
        ),
        refused(write(("tags", 1), "bad")),
        takes=tags,
    ),
    Case(
        "tuples",
        Tuples,
        {"pair": [1, "x"], "many": [1.5, 2], "point": [3, 4]},
        (
            write(("pair", 0), "2", 2),
            write(("pair", 1), "y"),
            write(("many", 0), "0.5", 0.5),
            do(("many", 1), GONE, remove(("many", 1))),
            write(("point", 0), "30", 30),
            write(("point", 1), "40", 40),
            do(("point", 2), "here", write(("point", 2), "here")),
        ),
        refused(write(("point", 1), "13", 13)),
    ),
]

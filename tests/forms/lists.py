"""Lists of values and of models: items come, go and change; an empty list is an answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from .case import GONE, Case, add, do, never, refused, refused_here, remove, write
from .nested import Address


class Lists(BaseModel):
    words: list[str]
    numbers: list[Annotated[int, never(13)]] = Field(max_length=4)
    none: list[str]
    grid: list[list[int]]


class Rows(BaseModel):
    rows: list[Address] = Field(min_length=1, max_length=3)


class Line(BaseModel):
    text: str
    count: Annotated[int, never(13)] = 1


class Invoice(BaseModel):
    """Rows of which one goes and one comes."""

    lines: list[Line]


CASES = [
    Case(
        "lists",
        Lists,
        {"words": ["", "b"], "numbers": [1, 2, 3], "none": [], "grid": [[1, 2], []]},
        (
            write(("words", 0), "a"),
            write(("words", 1), "b\nc"),
            write(("numbers", 0), "10", 10),
            write(("numbers", 1), "20", 20),
            write(("numbers", 2), "30", 30),
            do(("none", 0), "first", add("none"), write(("none", 0), "first")),
            write(("grid", 0, 0), "5", 5),
            write(("grid", 0, 1), "6", 6),
            do(("grid", 1, 0), 7, add(("grid", 1)), write(("grid", 1, 0), "7")),
        ),
        refused(write(("numbers", 1), "13", 13)),
    ),
    Case(
        "rows",
        Rows,
        {"rows": [{"street": "A", "zip_code": "11111"}, {"street": "B", "zip_code": "22222"}]},
        (
            write(("rows", 0, "street"), "C"),
            write(("rows", 0, "zip_code"), "33333"),
            do(("rows", 1), GONE, remove(("rows", 1)), python=GONE),
        ),
        refused_here(do("rows", [], remove(("rows", 1)), remove(("rows", 0)))),
    ),
    Case(
        "invoice",
        Invoice,
        {"lines": [{"text": "one", "count": 1}, {"text": "two", "count": 2}, {"text": "three"}]},
        (
            do(
                "lines",
                [{"text": "two", "count": 22}, {"text": "three", "count": 3}, {"text": "four"}],
                remove(("lines", 0)),
                write(("lines", 0, "count"), "22"),
                write(("lines", 1, "count"), "3"),
                add("lines"),
                write(("lines", 2, "text"), "four"),
                python=[Line(text="two", count=22), Line(text="three", count=3), Line(text="four")],
            ),
        ),
        refused(write(("lines", 1, "count"), "13", 13)),
    ),
    Case(
        "word_list",
        list[Annotated[str, never("bad")]],
        ["x", ""],
        (write((0,), "y"), do((1,), GONE, remove((1,)), python=GONE)),
        refused(write((1,), "bad")),
    ),
]

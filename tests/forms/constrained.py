"""Bounds, lengths and steps; and rules of several fields at once, which belong to none of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Self

from pydantic import BaseModel, Field, PositiveFloat, model_validator

from .case import Case, add, do, refused, refused_here, write


class Bounds(BaseModel):
    at_least: int = Field(ge=-5)
    below: float = Field(lt=100)
    tens: int = Field(multiple_of=10)
    positive: PositiveFloat
    word: str = Field(min_length=3, max_length=6)
    few: list[int] = Field(min_length=1, max_length=2)
    cents: Annotated[Decimal, Field(gt=0, multiple_of=Decimal("0.05"))]


class Window(BaseModel):
    """From and to belong together."""

    start: int
    end: int

    @model_validator(mode="after")
    def in_order(self) -> Self:
        if self.start >= self.end:
            raise ValueError("must end after it starts")
        return self


class Day(BaseModel):
    """A rule of the group inside."""

    name: str
    window: Window


CASES = [
    Case(
        "bounds",
        Bounds,
        {"at_least": -5, "below": 99.5, "tens": 20, "positive": 0.1, "word": "abc", "few": [1], "cents": "0.10"},
        (
            write("at_least", "0", 0),
            write("below", "-1e3", -1000),
            write("tens", "0", 0),
            write("positive", "7", 7),
            write("word", "abcdef"),
            write(("few", 0), "2", 2),
            write("cents", "1.15", python=Decimal("1.15")),
        ),
        refused(write("cents", "1.12")),
    ),
    Case(
        "bounds_in_the_browser",
        Bounds,
        {"at_least": 1, "below": 1, "tens": 10, "positive": 1, "word": "abc", "few": [1, 2], "cents": "0.05"},
        (
            write("at_least", "2", 2),
            write("below", "2", 2),
            write("tens", "-30", -30),
            write("positive", "2", 2),
            write("word", "abcd"),
            write(("few", 0), "3", 3),
            write(("few", 1), "4", 4),
            write("cents", "5", python=Decimal(5)),
        ),
        refused_here(write("tens", "15", 15)),
    ),
    Case("window", Window, {"start": 1, "end": 2}, (write("start", "3", 3), write("end", "4", 4)), refused(write("end", "1", 1), ())),
    Case(
        "day_window",
        Day,
        {"name": "x", "window": {"start": 1, "end": 2}},
        (write("name", "y"), write(("window", "start"), "5", 5), write(("window", "end"), "9", 9)),
        refused(write(("window", "start"), "7", 7), ("window",)),
    ),
    Case(
        "too_many",
        Annotated[list[int], Field(max_length=2)],
        [1, 2],
        (write((0,), "3", 3), write((1,), "4", 4)),
        refused_here(do((), [1, 2, 5], add(()), write((2,), "5"))),
    ),
]

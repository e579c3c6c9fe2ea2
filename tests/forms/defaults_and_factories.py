"""Defaults are said and never put in: what a model left out stays out."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from .case import Case, add, choose, do, leave_out, name, never, refused, write


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Defaults(BaseModel):
    """One default of each kind."""

    text: str = "hello"
    empty: str = ""
    number: int = 0
    price: Decimal = Decimal("9.90")
    day: date = date(2026, 1, 1)
    level: Level = Level.LOW
    words: list[str] = ["a", "b"]
    table: dict[str, int] = {"a": 1}
    needed: Annotated[str, never("bad")]


class Factories(BaseModel):
    """Nobody knows what a factory makes before it has made it."""

    ident: UUID = Field(default_factory=uuid4)
    words: list[str] = Field(default_factory=list)
    needed: Annotated[str, never("bad")]


CASES = [
    Case(
        "defaults_left_out",
        Defaults,
        {"needed": "x"},
        (write("needed", "y"),),
        refused(write("needed", "bad")),
    ),
    Case(
        "defaults_written_over",
        Defaults,
        {"needed": "x"},
        (
            write("needed", "y"),
            do("text", "", write("text", "x"), write("text", "")),
            write("empty", "e"),
            write("number", "5", 5),
            write("price", "0.10", python=Decimal("0.10")),
            write("day", "2026-02-01", python=date(2026, 2, 1)),
            choose("level", "high", python=Level.HIGH),
            do("words", ["c"], add("words"), write(("words", 0), "c")),
            do("table", {"b": 2}, name("table", "b"), write(("table", "b"), "2")),
        ),
        refused(write("needed", "bad")),
    ),
    Case(
        "defaults_taken_back",
        Defaults,
        {
            "text": "t",
            "empty": "e",
            "number": 1,
            "price": "1.00",
            "day": "2026-03-01",
            "level": "high",
            "words": [],
            "table": {},
            "needed": "n",
        },
        (
            leave_out("text"),
            leave_out("empty"),
            leave_out("number"),
            leave_out("price"),
            leave_out("day"),
            leave_out("level"),
            leave_out("words"),
            leave_out("table"),
            write("needed", "m"),
        ),
        refused(write("needed", "bad")),
    ),
    Case(
        "factories",
        Factories,
        {"needed": "x"},
        (
            write("ident", "123e4567-e89b-12d3-a456-426614174000", python=UUID("123e4567-e89b-12d3-a456-426614174000")),
            write("needed", "y"),
        ),
        refused(write("needed", "bad")),
    ),
]

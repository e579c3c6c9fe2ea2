"""A few values to choose from, of one type and of several; constants; two hundred values."""

from __future__ import annotations

from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel

from .case import Case, choose, leave_out, never, nothing, refused, write


class Priority(IntEnum):
    LOW = 1
    HIGH = 2


class Colour(Enum):
    RED = "red"
    GREEN = "green"
    NUMBER = 3


class Region(StrEnum):
    EU = "eu"
    US = "us"


Country = cast(Any, Enum("Country", {f"C{number}": f"Country {number:03}" for number in range(200)}))


class Choices(BaseModel):
    environment: Literal["staging", "prod"]
    priority: Priority
    colour: Colour
    region: Annotated[Region, never(Region.US)]
    later: Colour | None = None


class Mixed(BaseModel):
    """Values that look alike and differ."""

    either: Literal["a", 1, True, None]
    alike: Literal["1", 1, "null", None, "true", True, ""]
    number: Annotated[Literal[1, 2, 3], never(3)]


class Constants(BaseModel):
    version: Literal[2]
    mode: Literal["fixed"] = "fixed"
    flag: Literal[True] = True
    nothing: None
    note: Annotated[str, never("no")]


class Countries(BaseModel):
    country: Annotated[Country, never(Country.C7)]
    others: list[Country] = []


CASES = [
    Case(
        "choices",
        Choices,
        {"environment": "prod", "priority": 1, "colour": 3, "region": "eu", "later": "red"},
        (
            choose("environment", "staging"),
            choose("priority", "2", 2, Priority.HIGH),
            choose("colour", "green", python=Colour.GREEN),
            choose("region", "eu", python=Region.EU),
            nothing("later"),
        ),
        refused(choose("region", "us")),
    ),
    Case(
        "mixed_choices",
        Mixed,
        {"either": True, "alike": "null", "number": 1},
        (choose("either", "1", 1), choose("alike", "null", None), choose("number", "2", 2)),
        refused(choose("number", "3", 3)),
    ),
    Case(
        "constants",
        Constants,
        {"version": 2, "mode": "fixed", "flag": True, "nothing": None, "note": "x"},
        (leave_out("mode"), leave_out("flag"), write("note", "y")),
        refused(write("note", "no")),
    ),
    Case(
        "countries",
        Countries,
        {"country": "Country 001", "others": ["Country 199"]},
        (
            choose("country", "Country 150", python=Country.C150),
            choose(("others", 0), "Country 000", python=Country.C0),
        ),
        refused(choose("country", "Country 007")),
    ),
]

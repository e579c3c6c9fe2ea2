"""Types of parameters for the tests of a tool's schema, arguments and signature."""

from __future__ import annotations

import dataclasses
from enum import IntEnum, StrEnum
from typing import Literal, NamedTuple, NotRequired

from pydantic import BaseModel, Field
from typing_extensions import TypedDict


class Level(StrEnum):
    LOW = "low"
    HIGH = "high"


class Rank(IntEnum):
    ONE = 1
    TWO = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(description="with the number")
    zip: str | None = None


class Person(BaseModel):
    model_config = {"extra": "forbid"}
    name: str
    addresses: list[Address] = []
    boss: Person | None = None


class Row(NamedTuple):
    id: int
    label: str = "x"


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


@dataclasses.dataclass
class Span:
    start: int
    end: int = 9


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    name: str

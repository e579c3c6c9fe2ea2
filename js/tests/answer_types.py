"""Models that are hard to draw as a form, as pydantic emits them, each with values that must come back untouched."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter

from llm4s_notebook.agent import json_schema_of


class Deployment(BaseModel):
    """The arguments of the deploy tool."""

    environment: Literal["staging", "prod"] = Field(description="where it goes")
    version: str = Field(pattern=r"^\d+\.\d+\.\d+$", description="three numbers, such as 2.4.1")
    replicas: int = Field(ge=1, le=20)
    flags: dict[str, bool] = {}
    notes: str | None = None


class Region(BaseModel):
    value: Literal["eu", "us", "ap"]


class Priority(IntEnum):
    LOW = 1
    HIGH = 2


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Address(BaseModel):
    street: str = Field(min_length=1)
    zip_code: str = Field(pattern=r"^\d{5}$")


class Person(BaseModel):
    name: str = Field(min_length=1, max_length=40)
    nick: str | None = None
    motto: str = ""
    home: Address
    work: Address | None = None
    priority: Priority = Priority.LOW
    colour: Colour
    active: bool
    ratio: float = Field(gt=0, lt=1)


class Money(BaseModel):
    amount: Decimal = Field(ge=0, max_digits=8, decimal_places=2)
    discount: Decimal | None = None
    fees: list[Decimal] = []


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: str


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = Field(9, ge=0)


Pet = Annotated[Dog | Cat, Field(discriminator="kind")]


class Unions(BaseModel):
    pet: Pet
    other: Pet | None = None
    mixed: int | str | list[int] | None
    either: Address | str
    choice: Literal["a", 1, True, None] = "a"


class Collections(BaseModel):
    rows: list[Address] = Field(min_length=1, max_length=3)
    counts: dict[str, int]
    places: dict[str, Address] = {}
    tags: set[str] = set()
    pair: tuple[int, str]
    many: tuple[float, ...] = ()


class Moments(BaseModel):
    day: date
    at: datetime
    clock: time
    lasts: timedelta
    ident: UUID
    link: AnyUrl
    secret: SecretStr


class Tree(BaseModel):
    name: str
    anything: Any = None
    children: list[Tree] = []


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: Literal[2]
    text: str


def adapters() -> dict[str, TypeAdapter[Any]]:
    """Every answer type by the name of its fixture."""
    return {
        "deployment": TypeAdapter(Deployment),
        "person": TypeAdapter(Person),
        "money": TypeAdapter(Money),
        "unions": TypeAdapter(Unions),
        "collections": TypeAdapter(Collections),
        "moments": TypeAdapter(Moments),
        "tree": TypeAdapter(Tree),
        "closed": TypeAdapter(Closed),
        "optional_text": TypeAdapter(str | None),
        "text": TypeAdapter(str),
        "flag": TypeAdapter(bool),
        "number": TypeAdapter(int),
        "texts": TypeAdapter(list[str]),
        "anything": TypeAdapter(Any),
        "pet": TypeAdapter(Pet),
    }


def samples() -> dict[str, list[Any]]:
    """Values of each type as JSON, as a model may propose them: none may change by being shown."""
    home = {"street": "Main St 1", "zip_code": "12345"}
    return {
        "deployment": [{"environment": "prod", "version": "2.4.1", "replicas": 3, "flags": {"canary": True}, "notes": None}],
        "person": [
            {"name": "Ana", "home": home, "colour": "red", "active": False, "ratio": 0.5},
            {
                "name": "Bo",
                "nick": None,
                "motto": "",
                "home": home,
                "work": home,
                "priority": 2,
                "colour": "green",
                "active": True,
                "ratio": 0.25,
            },
        ],
        "money": [{"amount": "10.50", "discount": None, "fees": ["1.10", "0.00"]}, {"amount": "0.10", "discount": "1e-3"}],
        "unions": [
            {"pet": {"kind": "dog", "breed": "collie"}, "mixed": 3, "either": "here"},
            {"pet": {"kind": "cat", "lives": 0}, "other": {"kind": "dog", "breed": "x"}, "mixed": [1, 2], "either": home, "choice": None},
            {"pet": {"kind": "cat"}, "other": None, "mixed": None, "either": "", "choice": True},
            {"pet": {"kind": "dog", "breed": ""}, "mixed": "3", "either": home, "choice": 1},
        ],
        "collections": [
            {"rows": [home], "counts": {}, "tags": ["b", "a"], "pair": [1, "x"], "many": [1.5, 2.0]},
            {"rows": [home, home], "counts": {"a": 1, "": 0, "__proto__": 3}, "places": {"x": home}, "tags": [], "pair": [0, ""]},
        ],
        "moments": [
            {
                "day": "2026-11-30",
                "at": "2026-11-30T14:05:00.123456+02:00",
                "clock": "14:05:00",
                "lasts": "P1DT2H",
                "ident": "123e4567-e89b-12d3-a456-426614174000",
                "link": "https://example.org/a?b=c",
                "secret": "s3cret",
            },
            {
                "day": "2026-01-01",
                "at": "2026-11-30T14:05:00",
                "clock": "23:59:59.5",
                "lasts": "PT5M",
                "ident": "123e4567-e89b-12d3-a456-426614174000",
                "link": "x:y",
                "secret": "",
            },
        ],
        "tree": [
            {
                "name": "root",
                "anything": {"deep": [1, None, {"x": False}]},
                "children": [{"name": "leaf"}, {"name": "twig", "children": [{"name": "bud"}]}],
            },
            {"name": "line one\nline two\n", "anything": 0},
        ],
        "closed": [{"version": 2, "text": "x"}],
        "optional_text": ["", None, "Ana"],
        "text": ["", "two\nlines"],
        "flag": [False, True],
        "number": [0, -3],
        "texts": [[], ["", "b"]],
        "anything": [None, False, 0, "", [], {}, {"a": [1]}],
        "pet": [{"kind": "dog", "breed": "collie"}, {"kind": "cat", "lives": 3}],
    }


def form_fixtures() -> dict[str, Any]:
    """Schema and samples of every type; each sample is checked with pydantic here, as strictly as a resume does."""
    given = samples()
    fixtures: dict[str, Any] = {}
    for name, adapter in adapters().items():
        for sample in given[name]:
            adapter.validate_json(json.dumps(sample), strict=True)
        fixtures[name] = {"schema": json_schema_of(adapter), "samples": given[name]}
    return fixtures

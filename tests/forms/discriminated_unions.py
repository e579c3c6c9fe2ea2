"""Unions that a field tells apart: the tag is never left out, never guessed, and its members keep their fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from .case import Case, add, choose, do, kind, never, nothing, refused, write


class Dog(BaseModel):
    kind: Literal["dog"]
    breed: Annotated[str, never("cat")]


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = Field(9, ge=0)


class Bird(BaseModel):
    """One model for two tags."""

    kind: Literal["parrot", "crow"]
    sings: bool = False


Pet = Annotated[Dog | Cat | Bird, Field(discriminator="kind")]


class Owner(BaseModel):
    pet: Pet
    other: Pet | None = None
    more: list[Pet] = []


class Name(BaseModel):
    """A tag that is called like a field, and a field like a tag."""

    type: Literal["name"]
    name: str
    other: Annotated[str, never("bad")] = "x"


class Other(BaseModel):
    type: Literal["other"]
    name: Annotated[str, never("bad")]
    type_name: str = "x"


class Confusing(BaseModel):
    either: Annotated[Name | Other, Field(discriminator="type")]


class Circle(BaseModel):
    shape: Literal["round"]
    form: Literal["circle"] = "circle"
    radius: Annotated[float, never(13)]


class Ellipse(BaseModel):
    shape: Literal["round"]
    form: Literal["ellipse"]
    radii: tuple[float, float]


class Square(BaseModel):
    shape: Literal["square"]
    side: float


class Drawing(BaseModel):
    """A union in a union, each with a tag of its own."""

    figure: Annotated[Annotated[Circle | Ellipse, Field(discriminator="form")] | Square, Field(discriminator="shape")]


def which(value: Any) -> str:
    given = value if isinstance(value, dict) else vars(value)
    return "big" if "items" in given else "small"


class Small(BaseModel):
    item: Annotated[str, never("bad")]


class Big(BaseModel):
    items: list[str]


class ByFunction(BaseModel):
    """A function tells them apart, and JSON Schema has no word for it."""

    load: Annotated[Annotated[Small, Tag("small")] | Annotated[Big, Tag("big")], Discriminator(which)]


CASES = [
    Case(
        "owner",
        Owner,
        {"pet": {"kind": "dog", "breed": "collie"}, "other": None, "more": [{"kind": "cat"}, {"kind": "crow", "sings": True}]},
        (
            write(("pet", "breed"), "poodle"),
            do(
                "other",
                {"kind": "cat", "lives": 7},
                kind("other", "Cat"),
                write(("other", "lives"), "7"),
                python=Cat(lives=7),
            ),
            do(("more", 0, "lives"), 3, write(("more", 0, "lives"), "3")),
            choose(("more", 1, "kind"), "parrot"),
            choose(("more", 1, "sings"), "no", False),
        ),
        refused(write(("pet", "breed"), "cat")),
    ),
    Case(
        "owner_of_two",
        Owner,
        {"pet": {"kind": "cat", "lives": 1}, "other": {"kind": "dog", "breed": "x"}},
        (
            do(
                "pet",
                {"kind": "dog", "breed": "new"},
                kind("pet", "Dog"),
                write(("pet", "breed"), "new"),
                python=Dog(kind="dog", breed="new"),
            ),
            nothing("other"),
        ),
        refused(write(("other", "breed"), "cat")),
    ),
    Case(
        "tag_like_a_field",
        Confusing,
        {"either": {"type": "name", "name": "a", "other": "b"}},
        (write(("either", "name"), "c"), write(("either", "other"), "d")),
        refused(write(("either", "other"), "bad")),
    ),
    Case(
        "field_like_a_tag",
        Confusing,
        {"either": {"type": "other", "name": "a"}},
        (write(("either", "name"), "c"), write(("either", "type_name"), "d")),
        refused(write(("either", "name"), "bad")),
    ),
    Case(
        "drawing",
        Drawing,
        {"figure": {"shape": "round", "form": "circle", "radius": 1.5}},
        (write(("figure", "radius"), "2.5", 2.5),),
        refused(write(("figure", "radius"), "13", 13)),
    ),
    Case(
        "by_function",
        ByFunction,
        {"load": {"items": ["a"]}},
        (do(("load", "items"), ["b", "c"], write(("load", "items", 0), "b"), add(("load", "items")), write(("load", "items", 1), "c")),),
        refused(do("load", {"item": "bad"}, kind("load", "Small"), write(("load", "item"), "bad")), ("load", "item")),
    ),
    Case(
        "pet",
        Pet,
        {"kind": "dog", "breed": "collie"},
        (write("breed", ""),),
        refused(write("breed", "cat")),
    ),
]

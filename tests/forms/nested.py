"""Models in models, optional ones, deep ones, and one of sixty fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from .case import Case, Edit, add, choose, do, leave_out, never, refused, refused_here, write


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(min_length=1, description="with the number")
    zip_code: str = Field(pattern=r"^\d{5}$")


class Person(BaseModel):
    name: Annotated[str, never("Nobody")]
    home: Address
    work: Address | None = None
    holiday: Address = Address(street="Beach 1", zip_code="00001")


class L4(BaseModel):
    leaf: Annotated[int, never(13)]


class L3(BaseModel):
    four: L4


class L2(BaseModel):
    three: L3


class L1(BaseModel):
    two: L2


def _many() -> Any:
    """Sixty fields of six kinds."""
    fields: dict[str, Any] = {}
    for number in range(10):
        fields[f"text_{number}"] = (str, Field(description=f"The text number {number}."))
        fields[f"count_{number}"] = (int, Field(ge=0))
        fields[f"ratio_{number}"] = (float, 0.5)
        fields[f"flag_{number}"] = (bool, False)
        fields[f"size_{number}"] = (Literal["small", "medium", "large"], "medium")
        fields[f"note_{number}"] = (str | None, None)
    fields["text_9"] = (Annotated[str, never("bad")], Field(description="The last text."))
    return create_model("Many", **fields)


Many = _many()


def _many_edits() -> tuple[Edit, ...]:
    edits: list[Edit] = []
    for number in range(10):
        edits += [
            write(f"text_{number}", f"new {number}"),
            write(f"count_{number}", str(number + 100), number + 100),
            write(f"ratio_{number}", "0.25", 0.25),
            choose(f"flag_{number}", "yes", True),
            choose(f"size_{number}", "large"),
            leave_out(f"note_{number}"),
        ]
    return tuple(edits)


def _many_sample() -> dict[str, Any]:
    sample: dict[str, Any] = {}
    for number in range(10):
        sample |= {f"text_{number}": f"t{number}", f"count_{number}": number, f"ratio_{number}": 0.75, f"flag_{number}": False}
        sample |= {f"size_{number}": "small", f"note_{number}": None}
    return sample


CASES = [
    Case(
        "person",
        Person,
        {"name": "Ana", "home": {"street": "Main St 1", "zip_code": "12345"}},
        (
            write("name", "Bo"),
            write(("home", "street"), "Side St 2"),
            write(("home", "zip_code"), "54321"),
            do(
                "work",
                {"street": "Office 3", "zip_code": "00000"},
                add("work"),
                write(("work", "street"), "Office 3"),
                write(("work", "zip_code"), "00000"),
                python=Address(street="Office 3", zip_code="00000"),
            ),
        ),
        refused(write("name", "Nobody")),
    ),
    Case(
        "person_with_work",
        Person,
        {"name": "Bo", "home": {"street": "A 1", "zip_code": "11111"}, "work": {"street": "B 2", "zip_code": "22222"}},
        (
            write("name", "Cy"),
            write(("home", "street"), "A 2"),
            write(("home", "zip_code"), "11112"),
            leave_out("work"),
        ),
        refused_here(write(("work", "zip_code"), "abc")),
    ),
    Case(
        "deep",
        L1,
        {"two": {"three": {"four": {"leaf": 1}}}},
        (write(("two", "three", "four", "leaf"), "2", 2),),
        refused(write(("two", "three", "four", "leaf"), "13", 13)),
    ),
    Case("sixty_fields", Many, _many_sample(), _many_edits(), refused(write("text_9", "bad"))),
]

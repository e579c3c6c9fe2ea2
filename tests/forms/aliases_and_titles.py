"""Names on the wire that are not the names in Python; titles and descriptions of the authors."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from .case import Case, never, refused, write


class Aliases(BaseModel):
    user_name: str = Field(alias="userName")
    kind: Annotated[str, never("bad")] = Field(validation_alias=AliasChoices("type", "sort"))
    class_: str = Field(alias="class")


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str
    years_old: Annotated[int, never(13)]


class Titled(BaseModel):
    """The arguments of a tool, in words."""

    model_config = ConfigDict(title="A reservation")
    when: Annotated[str, never("never")] = Field(
        title="When shall it be?", description="A day, as you would say it.\n\nAny language will do."
    )
    who: str = Field(title="Who", description="")
    hard: str = Field(title="<b>not bold</b>", description="‮txet desrever")


CASES = [
    Case(
        "aliases",
        Aliases,
        {"userName": "ana", "type": "x", "class": "c"},
        (write("userName", "bo"), write("type", "y"), write("class", "d")),
        refused(write("type", "bad")),
    ),
    Case(
        "camel",
        Camel,
        {"firstName": "Ana", "yearsOld": 30},
        (write("firstName", "Bo"), write("yearsOld", "31", 31)),
        refused(write("yearsOld", "13", 13)),
    ),
    Case(
        "by_python_name",
        Camel,
        {"first_name": "Ana", "yearsOld": 30},
        (write("first_name", '"Bo"', "Bo"), write("yearsOld", "31", 31)),
        refused(write("yearsOld", "13", 13)),
    ),
    Case(
        "titled",
        Titled,
        {"when": "Monday", "who": "Ana", "hard": "x"},
        (write("when", "Tuesday"), write("who", "Bo"), write("hard", "y")),
        refused(write("when", "never")),
    ),
]

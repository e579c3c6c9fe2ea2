"""Fields that the model does not know: allowed with and without a type, dropped, forbidden."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict

from .case import GONE, Case, do, name, never, refused, remove, write


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: Annotated[str, never("bad")]


class Typed(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[int, never(13)]]
    known: str


class Silent(BaseModel):
    """What is not known here is dropped, and until then it is shown."""

    known: Annotated[str, never("bad")]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    known: Annotated[str, never("bad")]


CASES = [
    Case(
        "extra_allowed",
        Open,
        {"known": "x", "more": {"a": [1]}},
        (
            write("known", "y"),
            write("more", "[2, null]", [2, None]),
            do("new", 5, name((), "new"), write("new", "5")),
        ),
        refused(write("known", "bad")),
    ),
    Case(
        "extra_typed",
        Typed,
        {"known": "x", "one": 1},
        (write("known", "y"), write("one", "2", 2), do("two", 3, name((), "two"), write("two", "3"))),
        refused(write("one", "13", 13)),
    ),
    Case(
        "extra_dropped",
        Silent,
        {"known": "x", "unknown": 1},
        (write("known", "y"), do("unknown", GONE, remove("unknown"))),
        refused(write("known", "bad")),
    ),
    Case(
        "extra_forbidden",
        Closed,
        {"known": "x"},
        (write("known", "y"),),
        refused(write("known", "bad")),
    ),
]

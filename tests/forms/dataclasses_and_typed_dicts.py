"""Types that are no pydantic models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, NotRequired

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass as checked_dataclass
from typing_extensions import TypedDict

from .case import Case, add, do, leave_out, never, refused, write


@dataclass
class Item:
    """A dataclass of the standard library."""

    label: Annotated[str, never("bad")]
    count: int = 1
    tags: list[str] = field(default_factory=list)


@checked_dataclass
class Box:
    owner: str
    item: Item
    spare: Item | None = None


class Entry(TypedDict):
    """A dict of known names."""

    word: Annotated[str, never("bad")]
    count: NotRequired[int]


class Partial(TypedDict, total=False):
    word: Annotated[str, never("bad")]
    entry: Entry


assert TypeAdapter(Partial)

CASES = [
    Case(
        "item",
        Item,
        {"label": "x", "count": 2},
        (write("label", "y"), leave_out("count"), do("tags", ["t"], add("tags"), write(("tags", 0), "t"))),
        refused(write("label", "bad")),
    ),
    Case(
        "box",
        Box,
        {"owner": "ana", "item": {"label": "a"}},
        (
            write("owner", "bo"),
            write(("item", "label"), "b"),
            do("spare", {"label": "c"}, add("spare"), write(("spare", "label"), "c"), python=Item(label="c")),
        ),
        refused(write(("item", "label"), "bad")),
    ),
    Case(
        "entry",
        Entry,
        {"word": "x", "count": 1},
        (write("word", "y"), leave_out("count")),
        refused(write("word", "bad")),
    ),
    Case(
        "partial",
        Partial,
        {},
        (
            write("word", "w"),
            do("entry", {"word": "v"}, add("entry"), write(("entry", "word"), "v")),
        ),
        refused(write("word", "bad")),
    ),
]

"""Models that hold themselves: drawn as deep as there is data, and no deeper."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel

from .case import Case, add, do, never, refused, something, write


class Tree(BaseModel):
    name: Annotated[str, never("bad")]
    children: list[Tree] = []


class Chain(BaseModel):
    value: Annotated[int, never(13)]
    next: Chain | None = None


class Step(BaseModel):
    """Two models that hold each other."""

    title: str
    plan: Plan | None = None


class Plan(BaseModel):
    goal: Annotated[str, never("bad")]
    steps: list[Step] = []


def _chain(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"value": depth, "next": None}
    for number in range(depth - 1, 0, -1):
        value = {"value": number, "next": value}
    return value


def _down(depth: int, last: str) -> tuple[str, ...]:
    return (*["next"] * depth, last)


END = _down(11, "next")
LAST = do(END, {"value": 7}, something(END), add(END), write((*END, "value"), "7"), python=Chain(value=7))

CASES = [
    Case(
        "tree",
        Tree,
        {"name": "root", "children": [{"name": "leaf"}, {"name": "twig", "children": [{"name": "bud", "children": []}]}]},
        (
            write("name", "tree"),
            write(("children", 0, "name"), "l"),
            write(("children", 1, "name"), "t"),
            write(("children", 1, "children", 0, "name"), "b"),
            do(
                ("children", 1, "children", 0, "children", 0),
                {"name": "new"},
                add(("children", 1, "children", 0, "children")),
                write(("children", 1, "children", 0, "children", 0, "name"), "new"),
                python=Tree(name="new"),
            ),
        ),
        refused(write(("children", 1, "children", 0, "name"), "bad")),
    ),
    Case(
        "chain",
        Chain,
        _chain(12),
        (*(write(_down(depth, "value"), str(100 + depth), 100 + depth) for depth in range(12)), LAST),
        refused(write(_down(9, "value"), "13", 13)),
    ),
    Case(
        "plan",
        Plan,
        {"goal": "move", "steps": [{"title": "pack", "plan": {"goal": "boxes", "steps": []}}, {"title": "go", "plan": None}]},
        (
            write("goal", "stay"),
            write(("steps", 0, "title"), "unpack"),
            write(("steps", 0, "plan", "goal"), "shelves"),
            do(
                ("steps", 0, "plan", "steps", 0),
                {"title": "x"},
                add(("steps", 0, "plan", "steps")),
                write(("steps", 0, "plan", "steps", 0, "title"), "x"),
                python=Step(title="x"),
            ),
            write(("steps", 1, "title"), "come"),
            do(
                ("steps", 1, "plan"),
                {"goal": "y"},
                something(("steps", 1, "plan")),
                add(("steps", 1, "plan")),
                write(("steps", 1, "plan", "goal"), "y"),
                python=Plan(goal="y"),
            ),
        ),
        refused(write(("steps", 0, "plan", "goal"), "bad")),
    ),
]

"""Whole numbers and others, with bounds; yes and no."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat, NonNegativeInt, StrictBool

from .case import Case, choose, never, refused, refused_here, write


class Counts(BaseModel):
    """Whole numbers."""

    plain: int
    below_zero: int
    bounded: int = Field(ge=1, le=20)
    positive: NonNegativeInt
    big: int
    even: Annotated[int, never(3)]


class Measures(BaseModel):
    """Numbers with a fraction."""

    ratio: float = Field(gt=0, lt=1)
    finite: FiniteFloat
    whole: float
    tiny: float
    step: float = Field(multiple_of=0.1)


class Flags(BaseModel):
    """Yes and no are answers, and neither stands for no answer."""

    on: bool
    off: Annotated[bool, never(True)]
    strict: StrictBool
    maybe: bool = True


CASES = [
    Case(
        "counts",
        Counts,
        {"plain": 0, "below_zero": -3, "bounded": 1, "positive": 7, "big": 9007199254740991, "even": 2},
        (
            write("plain", "+12", 12),
            write("below_zero", "-0", 0),
            write("bounded", "20", 20),
            write("positive", "0", 0),
            write("big", "-9007199254740991", -9007199254740991),
            write("even", "4e2", 400),
        ),
        refused(write("even", "3", 3)),
    ),
    Case(
        "measures",
        Measures,
        {"ratio": 0.5, "finite": 1e300, "whole": 3, "tiny": 5e-324, "step": 0.3},
        (
            write("ratio", ".25", 0.25),
            write("finite", "-1.5e-7", -1.5e-7),
            write("whole", "4", 4),
            write("tiny", "1.10", 1.1),
            write("step", "0.7", 0.7),
        ),
        refused(write("step", "0.75", 0.75)),
    ),
    Case(
        "flags",
        Flags,
        {"on": True, "off": False, "strict": False},
        (choose("on", "no", False), choose("off", "no", False), choose("strict", "yes", True), choose("maybe", "no", False)),
        refused(choose("off", "yes", True)),
    ),
    Case("whole", int, 7, (write((), "0", 0),), refused_here(write((), "7.5", 7.5))),
]

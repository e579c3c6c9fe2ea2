"""Plain unions: of scalars, of models, of a model and a text; the kind is shown, kept and changed only by the person."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel

from .case import Case, add, choose, do, kind, never, nothing, refused, write
from .nested import Address

IDENT = "123e4567-e89b-12d3-a456-426614174000"


class Scalars(BaseModel):
    mixed: int | str | list[int] | None
    number: int | float
    yes_or_text: bool | str
    choice_or_number: Literal["auto"] | int
    ident_or_name: UUID | Annotated[str, never("nobody")]


class Either(BaseModel):
    """A model or a text."""

    home: Address | Annotated[str, never("nowhere")]
    work: Address | str | None = None


class Card(BaseModel):
    number: str
    cvc: Annotated[int, never(13)]


class Account(BaseModel):
    iban: str


class Payment(BaseModel):
    """Two models that only their fields tell apart."""

    by: Card | Account
    also: list[Card | Account] = []


class Lists(BaseModel):
    """Lists of different things have names of their own."""

    values: list[Annotated[int, never(13)]] | list[str] | dict[str, int]


CASES = [
    Case(
        "scalars",
        Scalars,
        {"mixed": "3", "number": 3, "yes_or_text": "yes", "choice_or_number": "auto", "ident_or_name": "Ana"},
        (
            do(
                "mixed",
                [7, 8],
                kind("mixed", "list of whole number"),
                add("mixed"),
                write(("mixed", 0), "7"),
                add("mixed"),
                write(("mixed", 1), "8"),
            ),
            do("number", 3.5, kind("number", "number"), write("number", "3.5")),
            do("yes_or_text", True, kind("yes_or_text", "yes/no"), choose("yes_or_text", "yes")),
            do("choice_or_number", 4, kind("choice_or_number", "whole number"), write("choice_or_number", "4")),
            write("ident_or_name", "Bo"),
        ),
        refused(write("ident_or_name", "nobody")),
    ),
    Case(
        "scalars_of_other_kinds",
        Scalars,
        {
            "mixed": None,
            "number": 0.5,
            "yes_or_text": False,
            "choice_or_number": 7,
            "ident_or_name": "123e4567-e89b-12d3-a456-426614174000",
        },
        (
            do("mixed", 0, kind("mixed", "whole number"), write("mixed", "0")),
            write("number", "1.5", 1.5),
            do("yes_or_text", "false", kind("yes_or_text", "text"), write("yes_or_text", "false")),
            do("choice_or_number", "auto", kind("choice_or_number", "auto")),
            write("ident_or_name", "123e4567-e89b-12d3-a456-426614174001", python=UUID("123e4567-e89b-12d3-a456-426614174001")),
        ),
        refused(do("ident_or_name", "nobody", kind("ident_or_name", "text"), write("ident_or_name", "nobody"))),
    ),
    Case(
        "model_or_text",
        Either,
        {"home": {"street": "Main St 1", "zip_code": "12345"}, "work": None},
        (
            write(("home", "street"), "Main St 2"),
            write(("home", "zip_code"), "54321"),
            do("work", "from home", kind("work", "text"), write("work", "from home")),
        ),
        refused(do("home", "nowhere", kind("home", "text"), write("home", "nowhere"))),
    ),
    Case(
        "text_or_model",
        Either,
        {"home": "here", "work": "there"},
        (
            do(
                "home",
                {"street": "A", "zip_code": "11111"},
                kind("home", "Address"),
                write(("home", "street"), "A"),
                write(("home", "zip_code"), "11111"),
                python=Address(street="A", zip_code="11111"),
            ),
            nothing("work"),
        ),
        refused(write("home", "nowhere")),
    ),
    Case(
        "payment",
        Payment,
        {"by": {"iban": "DE00"}, "also": [{"number": "1234", "cvc": 1}, {"iban": "AT11"}]},
        (
            write(("by", "iban"), "FR22"),
            write(("also", 0, "number"), "4321"),
            write(("also", 0, "cvc"), "2", 2),
            do(
                ("also", 1),
                {"number": "5", "cvc": 6},
                kind(("also", 1), "Card"),
                write(("also", 1, "number"), "5"),
                write(("also", 1, "cvc"), "6"),
                python=Card(number="5", cvc=6),
            ),
        ),
        refused(write(("also", 0, "cvc"), "13", 13)),
    ),
    Case(
        "list_or_list",
        Lists,
        {"values": ["a", "b"]},
        (
            write(("values", 0), "1"),
            write(("values", 1), "c"),
        ),
        refused(do("values", [13], kind("values", "list of whole number"), add("values"), write(("values", 0), "13")), ("values", 0)),
    ),
    Case(
        "anything_of_four",
        int | Annotated[str, never("bad")] | list[int] | None,
        [1, 2],
        (write((0,), "3", 3), write((1,), "0", 0)),
        refused(do((), "bad", kind((), "text"), write((), "bad"))),
    ),
]

"""Decimals: text, so that no digit is lost; and number or text, which is another thing."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field

from .case import Case, do, never, nothing, refused, refused_here, something, write


class Money(BaseModel):
    """Amounts to the cent."""

    amount: Decimal = Field(ge=0, max_digits=8, decimal_places=2)
    exact: Decimal
    as_number: Decimal
    discount: Decimal | None = None
    fees: list[Decimal] = []
    rates: dict[str, Decimal] = {}


class NumberOrText(BaseModel):
    """pydantic writes this like a Decimal, and it is none."""

    size: float | str
    count: int | Annotated[str, never("none")]
    limit: float | str | None = None


class DecimalOrList(BaseModel):
    price: Decimal | list[Decimal]


CASES = [
    Case(
        "money",
        Money,
        {
            "amount": "10.50",
            "exact": "0.12345678901234567890123",
            "as_number": 12.5,
            "discount": None,
            "fees": ["1.10", "0.00"],
            "rates": {"eur": "1.0"},
        },
        (
            write("amount", "12.50", python=Decimal("12.50")),
            write("exact", "1.00000000000000000001", python=Decimal("1.00000000000000000001")),
            write("as_number", "13.00", python=Decimal("13.00")),
            do("discount", "1e-3", something("discount"), write("discount", "1e-3"), python=Decimal("0.001")),
            write(("fees", 0), "2.20", python=Decimal("2.20")),
            write(("fees", 1), "-0.5", python=Decimal("-0.5")),
            write(("rates", "eur"), "7", python=Decimal(7)),
        ),
        refused(write("amount", "1.234")),
    ),
    Case(
        "number_or_text",
        NumberOrText,
        {"size": 3.5, "count": "many", "limit": "none"},
        (write("size", "4.5", 4.5), write("count", "12"), nothing("limit")),
        refused(write("count", "none")),
    ),
    Case(
        "decimal_or_list",
        DecimalOrList,
        {"price": ["1.5", "2.50"]},
        (
            write(("price", 0), "1.50", python=Decimal("1.50")),
            write(("price", 1), "3", python=Decimal(3)),
        ),
        refused_here(write(("price", 1), "-")),
    ),
]

"""The bounds that a schema sets a number, and which of them a number breaks, in the forms of 3.3.6."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import cast

from ..models import Json


def broken_bounds(schema: Mapping[str, Json], value: float) -> list[str]:
    """Every bound that the number breaks, in words."""
    found: list[str] = []
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{value} is below minimum {schema['minimum']}")
    if "maximum" in schema and value > schema["maximum"]:
        found.append(f"{value} is above maximum {schema['maximum']}")
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        found.append(f"{value} is not above exclusiveMinimum {schema['exclusiveMinimum']}")
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        found.append(f"{value} is not below exclusiveMaximum {schema['exclusiveMaximum']}")
    if "multipleOf" in schema and not _is_multiple(value, schema["multipleOf"]):
        found.append(f"{value} is not a multiple of {schema['multipleOf']}")
    return found


def _is_multiple(value: float, of: float) -> bool:
    """Exact in decimal: 0.3 is a multiple of 0.1."""
    a, b = (Decimal(str(number)).as_tuple() for number in (value, of))
    shift = max(0, -cast(int, a.exponent), -cast(int, b.exponent))

    def whole(number: float) -> int:
        sign, digits, exponent = Decimal(str(number)).as_tuple()
        unsigned = int("".join(map(str, digits))) * 10 ** (cast(int, exponent) + shift)
        return -unsigned if sign else unsigned

    return whole(value) % whole(of) == 0

"""What all small immutable values of the runtime are: records made in C, a dozen of them in each superstep."""

from __future__ import annotations

from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace


class Value(Struct, frozen=True, gc=False):
    """An immutable record. The garbage collector does not look into it: it never takes part in a reference cycle."""

    def replaced(self, **changes: Any) -> Self:
        """A copy with these fields changed. Raises: TypeError for a name that is no field."""
        return replace(self, **changes)

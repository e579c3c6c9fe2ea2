"""What other guardrails changed, by the texts' ids (T2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TextChanges:
    """Ids in the order of the texts.

    `newly_refused` and `newly_passing` are against the results before, and empty where there are none. `mended` were allowed by the
    person and pass now, so a false alarm is gone; `missed` were blocked by the person and pass now.
    """

    newly_refused: tuple[Any, ...]
    newly_passing: tuple[Any, ...]
    mended: tuple[Any, ...]
    missed: tuple[Any, ...]

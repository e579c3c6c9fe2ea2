"""Tools for tests of this package and of what is built on it: a clock that is moved by hand, a model's provider on this
machine, and the contract every store keeps. Importing the contract needs pytest and hypothesis; the rest needs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._clock import ManualClock
from ._mock_provider import MockProvider

if TYPE_CHECKING:
    from ._checkpointer_contract import CheckpointerContract

__all__ = ["CheckpointerContract", "ManualClock", "MockProvider"]


def __getattr__(name: str) -> object:
    if name == "CheckpointerContract":
        from ._checkpointer_contract import CheckpointerContract

        return CheckpointerContract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

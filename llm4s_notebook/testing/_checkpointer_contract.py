"""What every store keeps to (graph-runtime.md 6): inherit `CheckpointerContract`, say how to make the store, and nothing else."""

from __future__ import annotations

from ._contract._changes import ChangeTests
from ._contract._claims import ClaimTests
from ._contract._commits import CommitTests
from ._contract._keeping import KeepingTests
from ._contract._reading import ReadingTests


class CheckpointerContract(ClaimTests, CommitTests, ChangeTests, ReadingTests, KeepingTests):
    """A subclass sets `durable`, says how to `make` a store, and gives the two back doors `stored` and `set_format`, which go round it.
    It overrides no test."""

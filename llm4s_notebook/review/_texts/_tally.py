"""The table and the lengths of the lists, kept up to date text by text: a document costs the same however many texts there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ...wire import TextCounts, TextMark, TextShow
from ._find import Standing
from ._table import Counted, Counts, TextTable

_OF_MARK: dict[TextMark, Counted] = {"block": "block", "allow": "allow", "edit": "edit", "undecided": "undecided"}


class Tally:
    """Counts standings. A text that two guardrails refused counts in both rows of the table, and once in the total."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.total = Counts()
        self._rows = {label: Counts() for label in labels}
        self._lists: Counter[TextShow] = Counter()
        self._checked = 0

    @property
    def checked(self) -> int:
        """How many texts have a result."""
        return self._checked

    def count(self, standing: Standing, by: int) -> None:
        """Take a standing in (`by` 1) or out again (-1)."""
        for show in standing.lists:
            self._lists[show] += by
        checked = standing.now
        if checked is None:
            return
        self._checked += by
        refusing = {one.guardrail for one in checked.failures}
        for counts in (*(self._rows[name] for name in refusing), *([self.total] if refusing else [])):
            counts.add("refused", by)
            counts.add(_OF_MARK[standing.mark], by)
        faulty = {one.guardrail for one in checked.faults}
        for counts in (*(self._rows[name] for name in faulty), *([self.total] if faulty else [])):
            counts.add("errors", by)
        for counts in (*(self._rows[name] for name in set(checked.fixed_by)), *([self.total] if checked.fixed_by else [])):
            counts.add("fixed", by)

    def table(self) -> TextTable:
        """The table as it is now."""
        return TextTable({label: replace(counts) for label, counts in self._rows.items()}, replace(self.total))

    def lists(self, compared: bool) -> TextCounts:
        """How many texts each list has; of what is new only where there is something to compare with."""
        lists = self._lists
        return TextCounts(
            refused=lists["refused"],
            errors=lists["errors"],
            fixed=lists["fixed"],
            newly_refused=lists["newly_refused"] if compared else None,
            newly_passing=lists["newly_passing"] if compared else None,
            mended=lists["mended"],
            missed=lists["missed"],
            all=lists["all"],
        )

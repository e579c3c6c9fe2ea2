"""Texts, results and verdicts as rows of a table (T2.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._pandas import pandas_for_a_frame
from ._find import Standing
from ._given import Texts
from ._memory import TextVerdict

COLUMNS = ("id", "text", "outcome", "guardrail", "reason", "passed_on", "before", "verdict", "edited", "note", "decided_at", "decided_by")
"""The fields of a row. `guardrail` is the first that refused the text or failed on it, `passed_on` what the guardrails made of a text
that passes, `before` the outcome under the previous guardrails."""


def record(label: Any, text: str, standing: Standing, verdict: TextVerdict | None) -> dict[str, Any]:
    """One row; None where there is nothing to say."""
    now, before = standing.now, standing.before
    values = (
        label,
        text,
        standing.outcome,
        None if now is None else now.guardrail,
        None if now is None else now.reason or None,
        now.text if now is not None and now.outcome == "passed" else None,
        None if before is None else before.outcome,
        None if verdict is None else verdict.verdict.verdict,
        None if verdict is None else verdict.verdict.text,
        None if verdict is None else verdict.note,
        None if verdict is None else verdict.at,
        None if verdict is None else verdict.by,
    )
    return dict(zip(COLUMNS, values, strict=True))


def dataframe(records: Sequence[Mapping[str, Any]], texts: Texts) -> Any:
    """A `pandas.DataFrame` of the rows, under the index of the Series that the texts came from, else under their ids.

    Raises: ConfigError where pandas is not installed; it is no dependency and is imported here, when it is wanted.
    """
    pandas = pandas_for_a_frame()
    columns = [name for name in COLUMNS if name != "id"]
    index = texts.index if texts.index is not None else pandas.Index(list(texts.ids), name="id", tupleize_cols=False)
    return pandas.DataFrame([[row[name] for name in columns] for row in records], columns=columns, index=index)

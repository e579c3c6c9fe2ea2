"""Texts, results and verdicts as rows and as a DataFrame (T2.6)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pandas
import pytest

from llm4s_notebook.agent import GuardrailVerdict
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.testing import ManualClock

from .support import PROMISES, Fails, Upper, checked

COLUMNS = ["text", "outcome", "guardrail", "reason", "passed_on", "before", "verdict", "edited", "note", "decided_at", "decided_by"]


async def test_a_row_for_each_text() -> None:
    """T2.6: passed, refused and failed; decided and not."""
    clock = ManualClock()
    session = await checked({"a": "fine", "b": "guaranteed", "c": "boom"}, PROMISES, Fails(), Upper(), clock=clock, principal="rita")
    session.decide("b", GuardrailVerdict.edit("hoped for"), note="softer")
    passed, refused, failed = session.to_records()
    assert passed == dict.fromkeys(COLUMNS) | {"id": "a", "text": "fine", "outcome": "passed", "passed_on": "FINE"}
    assert refused == dict.fromkeys(COLUMNS) | {
        "id": "b",
        "text": "guaranteed",
        "outcome": "refused",
        "guardrail": "no promises",
        "reason": "inappropriate content: guaranteed",
        "verdict": "edit",
        "edited": "hoped for",
        "note": "softer",
        "decided_at": clock.now(),
        "decided_by": "rita",
    }
    assert (failed["outcome"], failed["guardrail"], failed["reason"]) == ("error", "fails", "LookupError: no such model")


@pytest.mark.parametrize(
    "index",
    [
        pandas.Index(["x", "y"], name="ticket"),
        pandas.MultiIndex.from_tuples([("mon", 1), ("mon", 2)], names=["day", "n"]),
        pandas.date_range("2026-11-30", periods=2),
        pandas.Index([7, 7]),
    ],
    ids=["names", "levels", "dates", "twice"],
)
async def test_a_frame_has_the_index_of_the_series_it_came_from(index: Any) -> None:
    """T2.6: so it can be joined to the table that the texts were taken from."""
    frame = (await checked(pandas.Series(["fine", "guaranteed"], index=index), PROMISES)).to_dataframe()
    assert frame.index.equals(index)
    assert frame.index.names == index.names
    assert list(frame.columns) == COLUMNS
    assert list(frame["outcome"]) == ["passed", "refused"]


async def test_a_frame_of_texts_with_ids_has_the_ids_as_its_index() -> None:
    """T2.6: also ids that are pairs, which are one level."""
    frame = (await checked([(("a", 1), "fine"), (("b", 2), "guaranteed")], PROMISES)).to_dataframe()
    assert list(frame.index) == [("a", 1), ("b", 2)]
    assert frame.index.name == "id"


async def test_without_pandas_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """T2.6: and names what works without it."""
    session = await checked()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match=r"pip install pandas; to_records\(\) gives the same rows"):
        session.to_dataframe()
    assert len(session.to_records()) == 4


def test_pandas_is_not_loaded_by_a_review() -> None:
    """T2.6: it is imported where a frame is wanted."""
    code = "import sys, llm4s_notebook as l; l.TextReview(['a'], [l.LengthCheck(1)]); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("False\n", "")

"""Events as JSON (R7.1) and what is refused when reading them (D7); times as numbers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm4s_notebook.checkpoint import SystemClock
from llm4s_notebook.checkpoint._clock import all_from_microseconds, from_microseconds, to_microseconds
from llm4s_notebook.checkpoint._event import _BY_NAME, RunEvent, event_from_json, event_to_json
from llm4s_notebook.testing._contract._events import EVERY_EVENT


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda event: type(event).__name__)
def test_an_event_survives_json(event: RunEvent) -> None:
    """R7.1."""
    assert event_from_json(event_to_json(event)) == event


def test_every_durable_kind_is_covered() -> None:
    """R7.1: a kind added later needs its sample."""
    assert {type(event) for event in EVERY_EVENT} == set(_BY_NAME.values())
    assert all(event.durable for event in EVERY_EVENT)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"type": "os.system"},
        {"type": "Progress", "name": "p", "version": 1, "payload": 1},
        {"type": "TaskFailed"},
        {"type": "TaskCompleted", "x": 1},
    ],
)
def test_json_that_is_no_event_is_refused(data: dict[str, object]) -> None:
    """D7, R7.10: only the durable kinds are looked up, with exactly their fields."""
    with pytest.raises(ValueError, match="event"):
        event_from_json(data)


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_survives_as_microseconds(moment: datetime) -> None:
    """R6.3: exactly, before 1970 too."""
    assert from_microseconds(to_microseconds(moment)) == moment


@given(st.lists(st.integers(0, 4 * 10**15 + 10)))
def test_many_times_are_the_same_as_one_by_one(counts: list[int]) -> None:
    """W8: to the microsecond, and in UTC."""
    found = all_from_microseconds(counts)
    assert found == [from_microseconds(count) for count in counts]
    assert all(one.tzinfo is UTC for one in found)


def test_times_of_other_zones_come_back_as_utc() -> None:
    """Times are aware UTC."""
    moment = datetime(2030, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    back = from_microseconds(to_microseconds(moment))
    assert (back, back.utcoffset()) == (moment, timedelta(0))
    assert SystemClock().now().utcoffset() == timedelta(0)

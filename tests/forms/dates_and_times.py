"""Dates, times and durations, as ISO texts: a naive time stays naive, and nothing is turned into UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

from pydantic import AwareDatetime, BaseModel, FutureDate, NaiveDatetime

from .case import Case, nothing, refused, refused_here, write

WEST = timezone(-timedelta(hours=5, minutes=30))


class Moments(BaseModel):
    day: date
    naive: datetime
    zoned: datetime
    fine: datetime
    clock: time
    lasts: timedelta


class Strict(BaseModel):
    """A moment with a zone, and one without."""

    aware: AwareDatetime
    local: NaiveDatetime
    later: FutureDate | None = None


class Either(BaseModel):
    """A day or an hour: the text says which."""

    when: date | time
    until: datetime | timedelta


CASES = [
    Case(
        "moments",
        Moments,
        {
            "day": "2026-11-30",
            "naive": "2026-11-30T14:05:00",
            "zoned": "2026-11-30T14:05:00+02:00",
            "fine": "2026-11-30T14:05:00.123456Z",
            "clock": "14:05:00",
            "lasts": "P1DT2H",
        },
        (
            write("day", "2028-02-29", python=date(2028, 2, 29)),
            write("naive", "2026-12-01T00:00:00", python=datetime(2026, 12, 1)),
            write("zoned", "2026-12-01T09:30:00-05:30", python=datetime(2026, 12, 1, 9, 30, tzinfo=WEST)),
            write("fine", "2026-12-01T09:30:00.000001Z", python=datetime(2026, 12, 1, 9, 30, 0, 1, tzinfo=UTC)),
            write("clock", "23:59:59.5", python=time(23, 59, 59, 500000)),
            write("lasts", "PT5M", python=timedelta(minutes=5)),
        ),
        refused(write("naive", "2026-12-01T25:00:00")),
    ),
    Case(
        "strict_moments",
        Strict,
        {"aware": "2026-11-30T14:05:00Z", "local": "2026-11-30T14:05:00", "later": "2999-01-01"},
        (
            write("aware", "2026-11-30T14:05:00+01:00", python=datetime(2026, 11, 30, 14, 5, tzinfo=timezone(timedelta(hours=1)))),
            write("local", "2026-11-30T14:06:00", python=datetime(2026, 11, 30, 14, 6)),
            nothing("later"),
        ),
        refused(write("aware", "2026-11-30T14:05:00")),
    ),
    Case(
        "either_moment",
        Either,
        {"when": "14:05:00", "until": "PT1H"},
        (
            write("when", "15:00:00", python=time(15)),
            write("until", "P2D", python=timedelta(days=2)),
        ),
        refused(write("until", "P2X")),
    ),
    Case("day", date, "2026-11-30", (write((), "2026-12-24", python=date(2026, 12, 24)),), refused_here(write((), "2026-02-30"))),
]

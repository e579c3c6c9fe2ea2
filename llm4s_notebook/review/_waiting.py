"""How long a model has been silent, and in words what a person may do about it (W4.8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

SILENT = 10.0
"""Seconds after which it is said that a model is silent."""

_LONGEST = 1e9  # seconds that a client may say it waits; a clock can count them
_SAFE = "cancel is safe: nothing of this call is stored"


@dataclass(frozen=True, slots=True)
class Resending:
    """The client sends its request again at `at`; `cause` is what went wrong, in words."""

    at: datetime
    cause: str


@dataclass(slots=True)
class Silence:
    """Since when a model's call has said nothing; `spoken` once a piece of the present attempt has come."""

    agent: str
    since: datetime
    attempt: int = 1
    spoken: bool = False
    retry: Resending | None = None

    def heard(self, now: datetime) -> None:
        self.since, self.spoken, self.retry = now, True, None

    def waits(self, attempt: int, seconds: float, fault: str, now: datetime) -> None:
        at = now + timedelta(seconds=min(max(seconds, 0.0), _LONGEST))
        self.attempt, self.spoken, self.since, self.retry = attempt, False, at, Resending(at, fault.replace("-", " "))

    def line(self, now: datetime) -> str | None:
        """What is to be said of it; None while it is short."""
        model, retry = f"model of '{self.agent}'", self.retry
        if retry is not None and now < retry.at:
            left = ceil((retry.at - now).total_seconds())
            return f"{model} is asked again in {in_words(left)}: attempt {self.attempt} after {retry.cause}; {_SAFE}"
        seconds = (now - self.since).total_seconds()
        if seconds < SILENT:
            return None
        said = "has written nothing more" if self.spoken else "has not answered"
        again = "" if self.attempt == 1 else f", attempt {self.attempt}" + (f" after {retry.cause}" if retry is not None else "")
        return f"{model} {said} for {in_words(int(seconds))}{again}; {_SAFE}"


def waiting_line(calls: Iterable[Silence], now: datetime) -> str | None:
    """The line about the call that has been silent for longest."""
    for one in sorted(calls, key=lambda call: call.since):
        line = one.line(now)
        if line is not None:
            return line
    return None


def in_words(seconds: int) -> str:
    """A duration to the second: "42 s", "3 min 5 s"."""
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min {seconds % 60} s"

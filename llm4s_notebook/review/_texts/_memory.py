"""Verdicts by phase and text, kept in the decision log when there is one (T2.1, T2.5)."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ...agent import GuardrailPhase, GuardrailReview, GuardrailVerdict
from ...checkpoint import Clock
from ...errors import ConfigError
from ...models import Json
from ...wire import TextMark
from .._decision_log import DecisionLog, writable
from .._observers import Observers

KIND = "TEXT_REVIEW"
"""The kind of such a decision in the log, where the others answer an interrupt of a thread."""
THREAD = "text-review"

Key = tuple[GuardrailPhase, str]
"""The phase, and the text as it can be stored."""


@dataclass(frozen=True, slots=True)
class TextVerdict:
    """What a person decided about one text: what they were shown, the verdict, a note, when and who."""

    review: GuardrailReview
    verdict: GuardrailVerdict
    note: str | None
    at: datetime
    by: str | None

    @property
    def text(self) -> str:
        """The text it is about."""
        return self.review.text

    @property
    def mark(self) -> TextMark:
        """The verdict in one word: "allow", "edit" or "block"."""
        return self.verdict.verdict


_REVIEW = TypeAdapter(GuardrailReview)


class VerdictMemory:
    """One verdict for each phase and text, whatever the refusal's wording, as around a turn (6.2.4).

    With a log every verdict is on disk before it counts, and those it has already are taken up. Of several for one text the
    last one counts; one that was taken back is none. May be used from any thread.
    """

    def __init__(self, decisions: DecisionLog | None, principal: str | None, clock: Clock) -> None:
        self.changed: Observers[Key] = Observers()
        self.decisions = decisions
        self._principal = principal
        self._clock = clock
        self._lock = threading.RLock()
        self._past: list[tuple[Key, TextVerdict | None]] = []
        self._verdicts: dict[Key, TextVerdict] = {}
        if principal is not None and not isinstance(principal, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            raise ConfigError(field="principal", problems=[f"principal is a text, not {principal!r}"])
        if decisions is not None:
            self._verdicts = _taken_up(writable(decisions))

    def get(self, key: Key) -> TextVerdict | None:
        return self._verdicts.get(key)

    def give(self, review: GuardrailReview, verdict: GuardrailVerdict, note: str | None, seconds: float | None) -> TextVerdict:
        """Keep a verdict in place of any before. Raises: what the log raises where it cannot be written, and then nothing is kept."""
        given = TextVerdict(review, verdict, note, self._clock.now(), self._principal)
        key = (review.phase, review.text)
        with self._lock:
            self._put(key, given, review, seconds)
            self._past.append((key, self._verdicts.get(key)))
            self._verdicts[key] = given
        self.changed.tell(key)
        return given

    @property
    def can_undo(self) -> bool:
        """Whether a verdict was given here, in this process."""
        return bool(self._past)

    def undo(self) -> Key | None:
        """Take the last verdict given here back, so that the one before it counts again; its key, or None where there is none."""
        with self._lock:
            if not self._past:
                return None
            key, before = self._past[-1]
            self._put(key, before, self._verdicts[key].review, None)
            self._past.pop()
            if before is None:
                del self._verdicts[key]
            else:
                self._verdicts[key] = before
        self.changed.tell(key)
        return key

    def _put(self, key: Key, given: TextVerdict | None, review: GuardrailReview, seconds: float | None) -> None:
        if self.decisions is None:
            return
        self.decisions.record(
            thread_id=THREAD,
            interrupt_id=_id_of(key),
            kind=KIND,
            shown=_REVIEW.dump_python(review, mode="json"),
            answered=_answered(given),
            who=self._principal,
            seconds=seconds,
        )


def _id_of(key: Key) -> str:
    """The same for the same phase and text, in every process."""
    return hashlib.sha256(f"{key[0].value}\n{key[1]}".encode()).hexdigest()[:32]


def _answered(given: TextVerdict | None) -> Json:
    if given is None:
        return {"verdict": "undecided", "text": None, "note": None}
    return {"verdict": given.verdict.verdict, "text": given.verdict.text, "note": given.note}


def _taken_up(decisions: DecisionLog) -> dict[Key, TextVerdict]:
    found: dict[Key, TextVerdict] = {}
    for record in decisions.records():
        if record.kind != KIND:
            continue
        try:
            review = _REVIEW.validate_python(record.shown)
            answered: dict[str, Any] = {**record.answered}
            note = answered.pop("note", None)
            verdict = None if answered.get("verdict") == "undecided" else GuardrailVerdict.model_validate(answered)
        except (ValidationError, TypeError, ValueError):
            continue  # a line of this kind that another program wrote
        key = (review.phase, review.text)
        if verdict is None:
            found.pop(key, None)
        else:
            found[key] = TextVerdict(review, verdict, note if isinstance(note, str) else None, record.at, record.who)
    return found

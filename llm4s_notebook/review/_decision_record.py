"""One line of a decision log: what a person was shown, what they answered, and a digest that binds the two."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from ..errors import EncodeError
from ..models import Json, freeze, thaw

FORMAT = 1
"""The format of a line. A line of a later one is refused, never guessed at."""


class DecisionRecord(BaseModel):
    """One decision. Everything in it is plain JSON, and every secret is dots (3.8)."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    at: Annotated[AwareDatetime, Field(strict=False)]
    """when it was decided, UTC."""
    who: str | None
    """the principal; None where nobody said who decides."""
    thread_id: str
    turn: str | None = None
    """the id of the run that began the turn: the same for all decisions of one turn of one thread."""
    run: str | None = None
    """the id of the run that the decision began: the same for decisions that were sent together."""
    query: Any = None
    """what the turn was asked; None where it is not known."""
    interrupt_id: str
    kind: str
    """APPROVAL, QUESTION, MIDDLEWARE_QUESTION or BREAKPOINT; another word for a decision that answers no interrupt."""
    shown: Any
    answered: Any
    secrets: bool = False
    """whether dots in `answered` stand for a secret that the person gave with it."""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """from shown to decided; None when it was shown to nobody."""
    digest: str
    """SHA-256, in hex, over what was decided: see `digest_of`."""

    def line(self) -> bytes:
        """The record as one line of JSON, without its end."""
        fields = self.model_dump()
        fields["at"] = self.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        try:
            return json.dumps(fields, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError:  # a lone surrogate: written as an escape, as JSON may
            return json.dumps(fields, allow_nan=False).encode()

    def flat(self) -> dict[str, Any]:
        """The record as one row of a table: texts, numbers, a time, None."""
        subjects = (self._said(self.shown, name) for name in ("tool_name", "middleware", "guardrail", "node"))
        return {
            "at": self.at,
            "who": self.who,
            "thread_id": self.thread_id,
            "turn": self.turn,
            "interrupt_id": self.interrupt_id,
            "kind": self.kind,
            "subject": next((subject for subject in subjects if subject), None),
            "decision": self._decision(),
            "shown": json.dumps(self.shown, ensure_ascii=False),
            "answered": json.dumps(self.answered, ensure_ascii=False),
            "seconds": self.seconds,
            "digest": self.digest,
        }

    def _decision(self) -> str:
        word = self._said(self.answered, "decision") or self._said(self.answered, "verdict")
        return word or ("proceed" if self.kind == "BREAKPOINT" else "reply")

    @staticmethod
    def _said(value: Json, name: str) -> str | None:
        found = cast("dict[str, Json]", value).get(name) if isinstance(value, dict) else None
        return found if isinstance(found, str) else None


def digest_of(*, thread_id: str, interrupt_id: str, kind: str, shown: Json, answered: Json) -> str:
    """SHA-256 over the JSON array of these, canonical: keys sorted, no spaces, only ASCII characters.

    Raises: EncodeError for a value that has no JSON form.
    """
    try:
        text = json.dumps([thread_id, interrupt_id, kind, shown, answered], sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise EncodeError(problems=[str(error)], what="the decision") from error
    return hashlib.sha256(text.encode()).hexdigest()


def make_record(
    *,
    at: datetime,
    who: str | None,
    thread_id: str,
    interrupt_id: str,
    kind: str,
    shown: Json,
    answered: Json,
    seconds: float | None,
    turn: str | None = None,
    run: str | None = None,
    query: Json = None,
    secrets: bool = False,
) -> DecisionRecord:
    """A record with its digest. Raises: EncodeError for values that are of another type, or have no JSON form."""
    shown, answered, query = (_plain(value, name) for value, name in ((shown, "shown"), (answered, "answered"), (query, "query")))
    digest = digest_of(thread_id=thread_id, interrupt_id=interrupt_id, kind=kind, shown=shown, answered=answered)
    try:
        return DecisionRecord(
            at=at,
            who=who,
            thread_id=thread_id,
            turn=turn,
            run=run,
            query=query,
            interrupt_id=interrupt_id,
            kind=kind,
            shown=shown,
            answered=answered,
            secrets=secrets,
            seconds=None if seconds is None else float(seconds),
            digest=digest,
        )
    except (ValidationError, TypeError, ValueError) as error:
        raise EncodeError(problems=faults(error), what="the decision") from error


def _plain(value: Json, name: str) -> Json:
    try:
        return thaw(freeze(value))
    except EncodeError as error:
        raise EncodeError(problems=error.problems, what=f"'{name}' of the decision") from error
    except RecursionError:
        raise EncodeError(problems=["it is nested too deeply"], what=f"'{name}' of the decision") from None


def faults(error: Exception) -> list[str]:
    """What is wrong, field by field."""
    if isinstance(error, ValidationError):
        return [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False, include_input=False)]
    return [str(error)]

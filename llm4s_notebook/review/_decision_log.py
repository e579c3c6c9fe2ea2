"""`DecisionLog`: every decision of a person, one line each, in a file that outlives kernels."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ..checkpoint import Clock, SystemClock
from ..errors import DecisionLogDamaged, EncodeError, StoreUnavailable
from ..models import Json
from ._decision_record import FORMAT, DecisionRecord, digest_of, faults, make_record
from ._line_file import Line, LineFile

_log = logging.getLogger(__name__)


class DecisionLog:
    """A file of decisions, JSON Lines, that any number of sessions, threads and processes may append to at once.

    It holds no file open: each call reads or writes the file as it is then. Give it to `Session(decisions=…)` to have every
    admitted answer recorded, and to `review(answers=…)` to have the same turns answered again.

    Raises: StoreUnavailable at once where no log can be there - the folder is missing, or the path is a folder. Whether the
    file can be written is checked when it is given to a session.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock = SystemClock()) -> None:  # noqa: B008 - holds no state
        self.path = Path(path)
        self._clock = clock
        self._file = LineFile(self.path)
        self._told: set[int] = set()
        if self.path.is_dir():
            raise self._file.unavailable("it is a folder", "opening")
        if not self.path.parent.is_dir():
            raise self._file.unavailable(f"there is no folder '{self.path.parent}'", "opening")

    # -- writing -----------------------------------------------------------------------------------------------------

    def record(
        self,
        *,
        thread_id: str,
        interrupt_id: str,
        kind: str,
        shown: Json,
        answered: Json,
        who: str | None,
        seconds: float | None,
    ) -> DecisionRecord:
        """Append one decision, made now, and return it; it is on disk when this returns.

        `shown` and `answered` are JSON, `seconds` the time from one to the other. Whoever calls this has put dots in place of
        secrets (`agent.hide_secrets`).

        Raises: EncodeError for what has no JSON form; StoreUnavailable where the file cannot be written. Then nothing was.
        """
        made = make_record(
            at=self._clock.now(),
            who=who,
            thread_id=thread_id,
            interrupt_id=interrupt_id,
            kind=kind,
            shown=shown,
            answered=answered,
            seconds=seconds,
        )
        self.append([made])
        return made

    def append(self, records: Sequence[DecisionRecord]) -> None:
        """Append records that are made already, in one write; all of them, or none. Raises: StoreUnavailable."""
        if records:
            self._file.append([record.line() for record in records])

    def check_writable(self) -> None:
        """Create the file where there is none. Raises: StoreUnavailable where nothing could be appended to it."""
        self._file.check_writable()

    # -- reading -----------------------------------------------------------------------------------------------------

    def records(self) -> list[DecisionRecord]:
        """Every decision in the order of the file; none where there is no file yet.

        A line that a dying process left unfinished is no decision: it is passed over, and a warning is logged.

        Raises: DecisionLogDamaged naming file, line and fault - a line that is no record, or whose digest does not fit what
        it says; StoreUnavailable where the file cannot be read.
        """
        found: list[DecisionRecord] = []
        for line in self._file.lines():
            record = self._read(line)
            if record is not None:
                found.append(record)
            elif line.number not in self._told:  # once, not with every reading
                self._told.add(line.number)
                _log.warning("%s line %d was never finished: its writer died, and it counts as no decision", self.path, line.number)
        return found

    def _read(self, line: Line) -> DecisionRecord | None:
        """The record of one line; None for the rest of one that was never finished."""
        if line.torn:
            return None
        try:
            fields: Any = json.loads(line.data.decode())
        except (ValueError, RecursionError) as error:
            raise self._damaged(line, f"it is no JSON: {error}") from error
        if not isinstance(fields, dict):
            raise self._damaged(line, "it is no JSON object")
        fields = cast("dict[str, Any]", fields)
        if fields.keys() == {"torn"}:
            return None
        if fields.get("format") != FORMAT:
            raise self._damaged(line, f"it is of format {fields.get('format')!r}; this version reads format {FORMAT}")
        try:
            record = DecisionRecord.model_validate(fields)
            digest = digest_of(
                thread_id=record.thread_id,
                interrupt_id=record.interrupt_id,
                kind=record.kind,
                shown=record.shown,
                answered=record.answered,
            )
        except (ValidationError, EncodeError) as error:
            raise self._damaged(line, "; ".join(error.problems if isinstance(error, EncodeError) else faults(error))) from error
        if digest != record.digest:
            raise self._damaged(line, "its digest does not fit what it says was shown and answered: it was changed after it was written")
        return record

    def _damaged(self, line: Line, problem: str) -> DecisionLogDamaged:
        return DecisionLogDamaged(file=str(self.path), line=line.number, problem=problem)

    def to_records(self) -> list[dict[str, Any]]:
        """The decisions as rows of a table, `pandas.DataFrame(log.to_records())`: texts, numbers, a time, None.

        `subject` is the tool, middleware, guardrail or node, `decision` the word of the answer; `shown` and `answered` are JSON
        texts. Raises: as `records`.
        """
        return [record.flat() for record in self.records()]

    def __len__(self) -> int:
        return len(self.records())

    def __bool__(self) -> bool:
        return True  # an empty log is a log all the same

    def __repr__(self) -> str:
        try:
            count = len(self)
        except (DecisionLogDamaged, StoreUnavailable) as error:
            return f"DecisionLog({str(self.path)!r}: {error.what}, {error.where})"
        return f"DecisionLog({str(self.path)!r}: {count} decision{'s' if count != 1 else ''})"

"""`DecisionLog`: every decision of a person, one line each, in a file that outlives kernels."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from ..checkpoint import Clock, SystemClock
from ..errors import ConfigError, DecisionLogDamaged, EncodeError, StoreUnavailable
from ..models import Json
from ._decision_record import FORMAT, DecisionRecord, digest_of, faults, make_record
from ._decisions import Decisions
from ._line_file import Line, LineFile
from ._recorded_turn import in_turns

_log = logging.getLogger(__name__)


class DecisionLog:
    """A file of decisions, JSON Lines, that any number of sessions, threads and processes may append to at once.

    It holds no file open: each call reads or writes the file as it is then. Give it to `Session(decisions=…)` to have every
    admitted answer recorded, and to `review(answers=…)` to have the same turns answered again.

    Raises: ConfigError for what is no path; StoreUnavailable at once where no log can be there - the folder is missing, the path
    is a folder, or no name of a file. Whether the file can be written is checked when it is given to a session.
    """

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock = SystemClock()) -> None:  # noqa: B008 - holds no state
        self.path = _path(path)
        self._clock = clock
        self._file = LineFile(self.path)
        self._told: set[int] = set()
        if fault := _fault(self.path):
            raise self._file.unavailable(fault, "opening")

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

    def of(self, thread_id: str | None = None, *, turn: int | str | None = None, instead: Mapping[str, Any] | None = None) -> Decisions:
        """The decisions on interrupts, of one thread, of one turn, to be given again: `review(answers=log.of("t", turn=-1))`.

        `turn` counts the turns that are left, -1 the last, or is a run's id as in `DecisionRecord.turn`. `instead` are answers by
        interrupt id that are given in place of the recorded ones.

        Raises: ConfigError where there is no file, no such thread or no such turn, listing those there are, and for an `instead` that
        is no mapping; as `records`.
        """
        if instead is not None and not isinstance(instead, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            raise ConfigError(field="instead", problems=[f"answers by interrupt id are wanted, a mapping, not {type(instead).__name__}"])
        if not self._file.exists():
            raise ConfigError(
                field="decisions", problems=[f"there is no file '{self.path}'"], next_step="check the path; nothing was changed"
            )
        every = in_turns(self.records())
        turns = every if thread_id is None else tuple(one for one in every if one.thread_id == thread_id)
        if thread_id is not None and not turns:
            known = ", ".join(sorted({repr(one.thread_id) for one in every})) or "none"
            raise ConfigError(
                field="decisions", problems=[f"{self.path} has no decisions of thread {thread_id!r}; threads it has: {known}"]
            )
        if isinstance(turn, int):
            if not -len(turns) <= turn < len(turns):
                raise ConfigError(field="decisions", problems=[f"there is no turn {turn}: {self.path} has the decisions of {len(turns)}"])
            turns = (turns[turn],)
        elif turn is not None:
            turns = tuple(one for one in turns if one.turn == turn)
            if not turns:
                raise ConfigError(field="decisions", problems=[f"{self.path} has no decisions of turn {turn!r}"])
        return Decisions(str(self.path), turns, dict(instead or {}))

    def to_test(
        self, agent: str, *, thread_id: str | None = None, turn: int | str | None = None, query: Any = None, result: Any = None
    ) -> str:
        """The source of a pytest file, whole as it stands, that gives these decisions again and checks what comes of it (L4.2).

        `agent` says where it comes from: "my_module:agent", or "my_module:make_agent()" for a function that makes it. All turns
        chosen are played one after the other on one new thread; turns in which nothing was decided are in no log and therefore
        not among them. With the `result` of the last one the test also checks its status, answer and tool results. `query` is
        needed where the log does not say what a turn was asked.

        Raises: ConfigError, saying what is missing - also for a decision that held a secret; as `of`.
        """
        return self.of(thread_id, turn=turn).to_test(agent, query=query, result=result)

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


def writable(given: object) -> DecisionLog:
    """The log given as `decisions=`, ready to be appended to.

    Raises: ConfigError for what is no DecisionLog; StoreUnavailable where nothing could be appended to it.
    """
    if not isinstance(given, DecisionLog):
        shown = repr(str(cast(object, given))) if isinstance(given, str | os.PathLike) else "…"
        raise ConfigError(
            field="decisions",
            problems=[f"a DecisionLog is wanted, not {type(cast(object, given)).__name__}"],
            next_step=f"give decisions=DecisionLog({shown}); nothing was changed",
        )
    given.check_writable()
    return given


def _path(given: object) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise ConfigError(field="path", problems=[f"a path is wanted, not {type(given).__name__}"])
    return Path(cast("str | os.PathLike[str]", given))


def _fault(path: Path) -> str | None:
    """Why no log can be there; None where nothing is known against it."""
    if "\0" in str(path):
        return "a name has no NUL character"
    try:
        if path.is_dir():
            return "it is a folder"
        return None if path.parent.is_dir() else f"there is no folder '{path.parent}'"
    except OSError as error:  # a name too long, a folder that may not be entered
        return error.strerror or str(error)

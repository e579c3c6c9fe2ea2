"""Refusals: nothing changed; mend the call and ask again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ._base import Llm4sError, listed, printable


class Refusal(Llm4sError):
    """Nothing changed; mend the call and ask again."""


class ConfigError(Refusal):
    """A setting or argument is wrong; `field` names it and `problems` lists everything that is wrong with it."""

    def __init__(self, *, field: str, problems: Iterable[str], next_step: str = "correct it and call again; nothing was changed") -> None:
        self.field = field
        self.problems = tuple(problems)
        super().__init__(listed(self.problems), where=f"in {field}", next_step=next_step)


class InvalidGraph(Refusal):
    """`compile` found faults; `problems` lists all of them (R2.1)."""

    def __init__(self, *, graph_id: str, problems: Iterable[str]) -> None:
        self.graph_id = graph_id
        self.problems = tuple(problems)
        super().__init__(
            listed(self.problems), where=f"in graph '{graph_id}'", next_step="correct the builder calls named and compile again"
        )


class UnknownStateKey(Refusal):
    """A key that the graph does not have, or an unequal key of that id (R1.16, D1)."""

    def __init__(self, *, key: str) -> None:
        self.key = key
        super().__init__(
            f"the graph has no state key '{key}' equal to the one given",
            where=f"state key '{key}'",
            next_step="name it in a node's writes or in builder.reads(), with the same type, initial value and version",
        )


class ForeignExecution(Refusal):
    """An execution is used with another graph object than the one that made it (R1.32)."""

    def __init__(self, *, graph_id: str) -> None:
        self.graph_id = graph_id
        super().__init__(
            "the execution was made by another graph object",
            where=f"graph '{graph_id}'",
            next_step="use the graph that made it, or restore its snapshot into this one",
        )


class ThreadBusy(Refusal):
    """Another run holds the thread (R4.18, R6.6); `holder` is its run id where the caller may know it."""

    def __init__(self, *, thread_id: str, checkpoint_id: str | None = None, holder: str | None = None) -> None:
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        self.holder = holder
        by = f" by run '{holder}'" if holder else ""
        super().__init__(
            f"the thread is held{by}",
            where=f"thread '{thread_id}'" + (f" at checkpoint '{checkpoint_id}'" if checkpoint_id else ""),
            next_step="wait for that run to end, or cancel it; a dead process is replaced once its lease has run out",
        )


class ThreadExists(Refusal):
    """`seed` or `fork` onto a thread that is there already (R6.32, R6.34)."""

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            "a thread of that id exists", where=f"thread '{thread_id}'", next_step="choose another thread id, or delete that thread first"
        )


class ThreadNotFound(Refusal):
    """No checkpoint is stored for the thread."""

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            "no such thread is stored",
            where=f"thread '{thread_id}'",
            next_step="check the id and the store, or start a turn on it with run",
        )


class CheckpointNotFound(Refusal):
    """The thread's history has no checkpoint of that id (R6.11)."""

    def __init__(self, *, thread_id: str, checkpoint_id: str) -> None:
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        super().__init__(
            f"the history has no checkpoint '{checkpoint_id}'",
            where=f"thread '{thread_id}'",
            next_step="list the thread's history and take an id from there",
        )


class CheckpointConflict(Refusal):
    """The latest checkpoint is not the one expected (R6.19, R6.33)."""

    def __init__(self, *, thread_id: str | None = None, expected: str | None, actual: str | None) -> None:
        self.thread_id = thread_id
        self.expected = expected
        self.actual = actual
        super().__init__(
            f"expected the latest checkpoint to be '{expected}', it is '{actual}'",
            where=f"thread '{thread_id}'" if thread_id else "the thread's history",
            next_step="read the latest checkpoint again and decide on what it shows",
        )


class PendingInterrupts(Refusal):
    """The thread waits for a person; `interrupt_ids` are listed in the order they were parked (R4.17)."""

    def __init__(self, *, thread_id: str, interrupt_ids: Iterable[str], details: Iterable[str] = ()) -> None:
        self.thread_id = thread_id
        self.interrupt_ids = tuple(interrupt_ids)
        self.details = tuple(details)
        count = len(self.interrupt_ids)
        named = listed(self.details) if self.details else ", ".join(self.interrupt_ids[:20]) + (" …" if count > 20 else "")
        super().__init__(
            f"the turn waits for {count} answer{'s' if count != 1 else ''}: {named}",
            where=f"thread '{thread_id}'",
            next_step="answer with resume(thread_id, answers), or give the turn up with abandon(thread_id)",
        )


@dataclass(frozen=True, kw_only=True)
class ResumeProblem:
    """One fault of one answer; `path` points into the answer so that a form can show it on its field."""

    interrupt_id: str | None
    code: Literal["unknown", "answered", "invalid", "empty", "repeated"]
    message: str
    path: tuple[str | int, ...] = ()
    answered_at: datetime | None = None
    answered_by: str | None = None

    def __str__(self) -> str:
        at = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{self.interrupt_id or 'answers'}{' $' + at if at else ''}: {self.message}"


class InvalidResume(Refusal):
    """Answers that cannot be taken; none of them was (R4.9, D6). `problems` names each fault."""

    def __init__(self, *, graph_id: str, problems: Iterable[ResumeProblem]) -> None:
        self.graph_id = graph_id
        self.problems = tuple(problems)
        super().__init__(
            listed(self.problems),
            where=f"graph '{graph_id}'",
            next_step="correct the answers named and resume again; everything is still pending",
        )


class NotSuspended(Refusal):
    """`resume` on a thread that waits for nothing (R4.18)."""

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__(
            "the thread waits for no answer",
            where=f"thread '{thread_id}'",
            next_step="start a turn with run, or continue an unfinished one with recover",
        )


class IncompleteRun(Refusal):
    """`start` over a run that did not finish (R4.4)."""

    def __init__(self, *, thread_id: str, checkpoint_id: str) -> None:
        self.thread_id = thread_id
        self.checkpoint_id = checkpoint_id
        super().__init__(
            "the last run of this thread did not finish",
            where=f"thread '{thread_id}' at checkpoint '{checkpoint_id}'",
            next_step="continue it with recover(thread_id), or give it up with abandon(thread_id)",
        )


class NothingToRecover(Refusal):
    """`recover` with nothing unfinished."""

    def __init__(self, *, thread_id: str) -> None:
        self.thread_id = thread_id
        super().__init__("nothing of this thread is unfinished", where=f"thread '{thread_id}'", next_step="start a new turn with run")


class RestoreRejected(Refusal):
    """A stored thread does not fit the graph it is opened with; `problems` lists all of it (R6.39, D14).

    `damaged` says that what was stored cannot be read at all, by any graph.
    """

    def __init__(self, *, graph_id: str, problems: Iterable[str], next_step: str | None = None, damaged: bool = False) -> None:
        self.graph_id = graph_id
        self.problems = tuple(problems)
        self.damaged = damaged
        super().__init__(
            listed(self.problems),
            where=f"graph '{graph_id}'",
            next_step=next_step or "open the thread with the graph that wrote it, or start a new thread",
        )


class UnsupportedCheckpointFormat(Refusal):
    """A checkpoint of a format this version does not read (R6.5)."""

    def __init__(self, *, found: object, supported: int) -> None:
        self.found = found
        self.supported = supported
        super().__init__(
            f"checkpoint format {found!r}; this version reads up to {supported}",
            where="the stored checkpoint",
            next_step="open it with a newer llm4s-notebook",
        )


class DecodeError(Refusal):
    """JSON that is not of the type wanted; `problems` are 'path: reason' lines."""

    def __init__(self, *, problems: Iterable[str], what: str = "the value") -> None:
        self.problems = tuple(problems)
        super().__init__(f"{what} does not decode: {listed(self.problems)}", next_step="give a value of the declared type")


class EncodeError(Refusal):
    """A value that is not of its declared type, or has no JSON form."""

    def __init__(self, *, problems: Iterable[str], what: str = "the value") -> None:
        self.problems = tuple(problems)
        super().__init__(f"{what} does not encode: {listed(self.problems)}", next_step="give a value of the declared type")


class ReplayUnavailable(Refusal):
    """The events asked for were compacted away; `earliest` is the first number still there (R6.13)."""

    def __init__(self, *, earliest: int) -> None:
        self.earliest = earliest
        super().__init__(
            f"events before number {earliest} are gone",
            where="the thread's event log",
            next_step=f"subscribe after {earliest - 1} or later",
        )


class SubscriptionLagged(Refusal):
    """A subscriber was too slow; subscribe again after `last_sequence` (R7.8)."""

    def __init__(self, *, last_sequence: int) -> None:
        self.last_sequence = last_sequence
        super().__init__(
            "the subscription fell behind and was ended",
            where=f"after event {last_sequence}",
            next_step=f"subscribe again with after={last_sequence}; no event is lost",
        )


class Refused(Refusal):
    """A hook or a guardrail refuses a text; `reason` says why (D21)."""

    def __init__(self, reason: str) -> None:
        self.reason = printable(str(reason))  # it is stored, and shown to a reviewer
        super().__init__(self.reason)


class GuardrailBlocked(Refusal):
    """A guardrail refused a text: the first failing guardrail, and every failure's reason (6.1.3)."""

    def __init__(self, *, guardrail: str, reason: str) -> None:
        self.guardrail = printable(str(guardrail))
        self.reason = printable(str(reason))
        super().__init__(self.reason, where=f"guardrail '{self.guardrail}'", next_step="change the text; the thread is usable at once")


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
"""In a `ShownDifference`: there is no such field."""


@dataclass(frozen=True, kw_only=True)
class ShownDifference:
    """One part of what is shown now that is not what a recorded decision was made on; `field` is a path like `arguments.version`."""

    field: str
    decided_on: object
    now: object

    def __str__(self) -> str:
        return f"{self.field} was {_short(self.decided_on)}, is {_short(self.now)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


class DecisionMismatch(Refusal):
    """A recorded decision was made on something else than what waits now, so it is not given (L3.3).

    `interrupt_id` is the one of the record; `differences` names each field with both values.
    """

    def __init__(self, *, thread_id: str, interrupt_id: str, differences: Iterable[ShownDifference]) -> None:
        self.thread_id = thread_id
        self.interrupt_id = interrupt_id
        self.differences = tuple(differences)
        super().__init__(
            f"the recorded decision was made on something else: {listed(self.differences)}",
            where=f"thread '{thread_id}', decision on interrupt '{interrupt_id}'",
            next_step="decide it anew, or replay with what it was recorded with; everything is still pending",
        )


class DecisionLogDamaged(Refusal):
    """A line of a decision log cannot be read, or says other things than when it was written. Lines count from 1."""

    def __init__(self, *, file: str, line: int, problem: str) -> None:
        self.file = file
        self.line = line
        self.problem = problem
        super().__init__(
            f"the decision log is damaged: {problem}",
            where=f"{file} line {line}",
            next_step="put the file back from a copy, or take that line out and keep it elsewhere; nothing was changed",
        )

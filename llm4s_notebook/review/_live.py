"""What the models of a run are writing just now, reduced from its live events (W4.7). Nothing of it is stored.

A view holds a whole `LiveView` and is then sent only what came since, each piece under the next number; what changes more than the end of
a text - a message or a call that is new, void or gone - is a reason for a whole document.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from ..agent import events as told
from ..graph.events import EventRecord, Gap, Progress, TaskCompleted, TaskFailed, TaskSuspended
from ..wire import LivePiece, LiveView, MessageView, Pieces, ToolCallView
from ._waiting import Silence, waiting_line

_PARTS = 1000
"""So many pieces of a text are kept before they are joined: joining at each piece would copy a long text each time."""


def message_id(task_id: str | None) -> str:
    """The id under which a model step's message is stored."""
    return f"{task_id}/assistant"


class _Growing:
    """A text that grows at its end: what the views have, and what they have not been sent yet."""

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._fresh: list[str] = []

    def add(self, piece: str) -> None:
        self._fresh.append(piece)

    def take(self) -> str:
        """What is new, which from now on counts as sent."""
        fresh = "".join(self._fresh)
        if fresh:
            self._sent.append(fresh)
            self._fresh.clear()
            if len(self._sent) > _PARTS:
                self._sent = ["".join(self._sent)]
        return fresh

    def __str__(self) -> str:
        return "".join(self._sent)


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    arguments: _Growing = field(default_factory=_Growing)


@dataclass(slots=True)
class _Written:
    """The message of one model step. `void`: the next piece begins it anew; `over`: the client's call has ended."""

    attempt: int
    silence: Silence
    text: _Growing = field(default_factory=_Growing)
    calls: dict[int, _Call] = field(default_factory=dict[int, _Call])
    begun: bool = False
    thinking: bool = False
    void: bool = False
    over: bool = False
    missed: bool = False
    noted: str = ""  # the note that the views have

    def anew(self) -> None:
        self.text, self.calls, self.begun, self.thinking, self.void = _Growing(), {}, False, False, False

    @property
    def note(self) -> str:
        """What stands beside it, in words."""
        if self.void:
            retry = self.silence.retry
            why = "" if retry is None else f" after {retry.cause}"
            return f"void: attempt {self.attempt}{why} begins anew"
        said = "not stored yet" if self.over else "thinking …" if self.thinking else "writing …"
        return f"{said}, parts of it were missed here" if self.missed else said


class Live:
    """Reduces the live events of a session's own run. Fed on its home loop; `view` may be asked for from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._written: dict[str, _Written] = {}
        self._line: str | None = None
        self._fresh = False

    def see(self, record: EventRecord, now: datetime) -> bool:
        """Take an event in. True where the views need a whole document for it; else `take` may have something for them."""
        with self._lock:
            match record.event:
                case Progress(name=name, payload=payload):
                    event = told.decode(name, payload)
                    if event is None:
                        return False
                    whole = self._told(message_id(record.task_id), event, record.node_id or "", now)
                    if self._line is not None or isinstance(event, told.ModelCallWaits):  # a word takes the line away at once
                        self._line = self._waiting(now)
                    return whole
                case TaskFailed() | TaskSuspended():
                    return self._written.pop(message_id(record.task_id), None) is not None
                case TaskCompleted():  # where the end of its call was missed: nobody waits for this model any more
                    if (one := self._written.get(message_id(record.task_id))) is not None and not one.over:
                        one.over = self._fresh = True
                        self._line = self._waiting(now)
                case Gap():
                    self._gap(now)
                case _:
                    pass
            return False

    def clear(self) -> bool:
        """Nothing runs any more. True where something was being written."""
        with self._lock:
            had = bool(self._written) or self._line is not None
            self._written.clear()
            self._line, self._fresh = None, False
            return had

    def stored(self, ids: Iterable[str]) -> None:
        """Forget the messages that are in the thread by now."""
        with self._lock:
            for one in ids:
                self._written.pop(one, None)

    def tick(self, now: datetime) -> bool:
        """Whether what is said about waiting has changed with time alone."""
        with self._lock:
            line = self._waiting(now)
            changed, self._line = line != self._line, line
            self._fresh = self._fresh or changed
            return changed

    def take(self) -> Pieces | None:
        """What the views have not been sent yet, under the next number; None where there is nothing."""
        with self._lock:
            if not self._fresh:
                return None
            pieces: list[LivePiece] = []
            for id, one in self._written.items():
                text, arguments, note = one.text.take(), [call.arguments.take() for call in one.calls.values()], one.note
                if one.begun and (text or any(arguments) or note != one.noted):
                    pieces.append(LivePiece(id=id, note=note, text=text, arguments=arguments))
                    one.noted = note
            self._fresh = False
            self._number += 1
            return Pieces(kind="live", number=self._number, waiting=self._line, pieces=pieces)

    def view(self, stored: Iterable[MessageView] = ()) -> LiveView:
        """All that the views have been sent, without the messages that are in the thread by now: never both."""
        with self._lock:
            there = {message.id for message in stored} if self._written else set[str]()
            messages = [_view(id, one) for id, one in self._written.items() if one.begun and id not in there]
            return LiveView(number=self._number, waiting=self._line, messages=messages)

    def _waiting(self, now: datetime) -> str | None:
        return waiting_line((one.silence for one in self._written.values() if not one.over), now)

    # -- one event ---------------------------------------------------------------------------------------------------

    def _told(self, id: str, event: told.AgentEvent, node: str, now: datetime) -> bool:
        match event:
            case told.ModelCallStarted(agent=agent, attempt=attempt):
                return self._started(id, agent, attempt, now)
            case told.ModelCallWaits(attempt=attempt, seconds=seconds, fault=fault):
                one = self._written.get(id)
                if one is None or attempt <= one.attempt:
                    return False
                one.attempt, one.void, self._fresh = attempt, True, True
                one.silence.waits(attempt, seconds, fault, now)
                return False
            case told.ModelCallEnded(attempt=attempt, failed=failed):
                return self._ended(id, attempt, failed)
            case told.TextDelta(attempt=attempt) | told.ThinkingDelta(attempt=attempt) | told.ToolCallDelta(attempt=attempt):
                one = self._written.get(id)
                if one is None:  # its beginning was missed
                    one = self._written[id] = _Written(attempt, Silence(node.partition("/")[0], now), missed=True)
                if attempt > one.attempt:  # where it begins was missed
                    self._again(one, attempt, now)
                    one.missed = True
                if attempt < one.attempt or one.over:
                    return False  # void already (agent.md 8.10)
                return self._piece(one, event, now)
            case _:
                return False

    def _started(self, id: str, agent: str, attempt: int, now: datetime) -> bool:
        one = self._written.get(id)
        if one is None:
            self._written[id] = _Written(attempt, Silence(agent, now, attempt))
        elif attempt >= one.attempt:
            self._again(one, attempt, now)
            one.missed = False  # of this one nothing yet
        return False  # nothing to draw until it says something

    def _again(self, one: _Written, attempt: int, now: datetime) -> None:
        one.attempt, one.void, one.over, self._fresh = attempt, True, False, True
        one.silence = Silence(one.silence.agent, now, attempt, retry=one.silence.retry)

    def _ended(self, id: str, attempt: int, failed: bool) -> bool:
        one = self._written.get(id)
        if one is None or attempt < one.attempt:
            return False
        one.over = self._fresh = True
        if not failed and not one.void:
            return False
        drawn = one.begun
        one.anew()
        return drawn

    def _piece(self, one: _Written, event: told.AgentEvent, now: datetime) -> bool:
        whole = one.void or not one.begun
        if one.void:
            one.anew()
        one.begun = True
        one.silence.heard(now)
        self._fresh = True
        match event:
            case told.TextDelta(text=text):
                one.text.add(text)
            case told.ToolCallDelta(index=index, call_id=call_id, tool=tool, arguments=arguments):
                call = one.calls.get(index)
                if call is None:
                    call = one.calls[index] = _Call(call_id, tool)
                    whole = True
                call.arguments.add(arguments)
            case _:
                pass
        one.thinking = isinstance(event, told.ThinkingDelta)
        return whole

    def _gap(self, now: datetime) -> None:
        """Some live events did not fit: each text that is being written may lack a part, and where it ends is not known."""
        for one in self._written.values():
            one.missed = True
            one.silence.heard(now)
        self._fresh = True


def _view(id: str, one: _Written) -> MessageView:
    calls = [
        ToolCallView(id=call.id, name=call.name, arguments=str(call.arguments), edited=False, state="writing")
        for call in one.calls.values()
    ]
    return MessageView(
        id=id,
        role="assistant",
        text=str(one.text),
        tool_calls=calls,
        tool_call_id=None,
        is_error=False,
        not_run=False,
        note=one.note,
    )

"""What each model call took, reduced from the thread's durable events; so a new kernel knows it as well (W4.9)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..agent import events as told
from ..graph.events import Custom, EventRecord, RunStarted
from ..wire import MessageView, ModelCallView
from ._live import message_id
from ._waiting import in_words


class ModelCalls:
    """The calls of the present turn, and beside which stored message each of the thread's is told."""

    def __init__(self) -> None:
        self._sequence = 0
        self._turn: list[tuple[str, told.ModelCallCompleted]] = []
        self._notes: dict[str, str] = {}
        self._noted: tuple[Sequence[MessageView], int, list[MessageView]] = ((), 0, [])

    def see(self, records: Iterable[EventRecord]) -> None:
        """Take in events in the order of their numbers; those seen before, and live ones, are passed over."""
        for record in records:
            if record.sequence is None or record.sequence <= self._sequence:
                continue
            self._sequence = record.sequence
            match record.event:
                case RunStarted():
                    self._turn = []
                case Custom(name=told.ModelCallCompleted.name, payload=payload):
                    call = told.decode(told.ModelCallCompleted.name, payload)
                    if isinstance(call, told.ModelCallCompleted):
                        self._turn.append((message_id(record.task_id), call))
                        if call.attempts > 0:  # else a wrapper answered in the model's place
                            self._notes[message_id(record.task_id)] = took(call)
                case _:
                    pass

    def of_turn(self) -> tuple[told.ModelCallCompleted, ...]:
        """The calls of the present turn, in order."""
        return tuple(call for _, call in tuple(self._turn))

    def views(self) -> list[ModelCallView]:
        """The same for the document."""
        return [_view(id, call) for id, call in tuple(self._turn)]

    def noted(self, messages: Sequence[MessageView]) -> list[MessageView]:
        """The messages, with what its call took at each that is known. The same messages are gone through once."""
        before, count, noted = self._noted
        if before is not messages or count != len(self._notes):
            notes = self._notes
            noted = [one.model_copy(update={"note": notes[one.id]}) if one.id in notes else one for one in messages]
            self._noted = (messages, len(notes), noted)
        return noted


def took(call: told.ModelCallCompleted) -> str:
    """What a call took, in one line: "1.2 s, first word after 0.4 s, 312 in, 41 out"."""
    said = [_seconds(call.seconds)]
    if call.first_token is not None:
        said.append(f"first word after {_seconds(call.first_token)}")
    if call.attempts > 1:
        said.append(f"{call.attempts} attempts")
    if call.usage is not None:
        said.append(f"{call.usage.input_tokens:,} in, {call.usage.output_tokens:,} out")
        if call.usage.cost is not None:
            said.append(f"${call.usage.cost:.4f}")
    return ", ".join(said)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else in_words(int(seconds))


def _view(id: str, call: told.ModelCallCompleted) -> ModelCallView:
    usage = call.usage
    return ModelCallView(
        message_id=id,
        agent=call.agent,
        model=call.model,
        attempts=call.attempts,
        seconds=call.seconds,
        first_token=call.first_token,
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
        cost=None if usage is None else usage.cost,
    )

"""A turn answered again from a log: each decision on what it was made on, or not at all (L3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple, cast

from ..errors import NOTHING, ConfigError, DecisionMismatch, ShownDifference
from ..models import Json
from ..wire import PendingCard
from ._answers import Pair
from ._decision_record import DecisionRecord
from ._recorded_turn import RecordedTurn
from ._shown import shown_of


class UnusedDecisions(UserWarning):
    """A replayed turn ended before all of its recorded decisions were asked for."""


class _Waits(NamedTuple):
    """Something that waits now."""

    id: str
    kind: str
    shown: dict[str, Json]


class Replay:
    """Gives the decisions of one turn in their order, those together that were sent together."""

    def __init__(self, turn: RecordedTurn | None, instead: Mapping[str, Any], thread_id: str) -> None:
        """`thread_id` is the thread that is answered. Raises: ConfigError for decisions whose secrets are not known, or for
        `instead` answers to nothing recorded; before anything runs."""
        self._thread_id = thread_id
        self._instead = instead
        self._left = list(turn.records) if turn is not None else []
        known = {record.interrupt_id for record in self._left}
        problems = [f"'instead' answers '{id}', on which there is no decision in {turn or 'the log'}" for id in instead if id not in known]
        problems += [
            f"the decision on '{record.interrupt_id}' ({_about(record.shown)}) held a secret, which is not in the log"
            for record in self._left
            if record.secrets and record.interrupt_id not in instead
        ]
        if problems:
            raise ConfigError(
                field="answers",
                problems=problems,
                next_step="give that answer whole: log.of(…, instead={interrupt_id: answer}); nothing ran",
            )

    def answered_before(self, interrupt_ids: Sequence[str]) -> None:
        """These were answered in this turn before the replay began: it goes on behind them."""
        answered = set(interrupt_ids)
        self._left = [record for record in self._left if record.interrupt_id not in answered]

    def next(self, cards: Sequence[PendingCard]) -> list[Pair]:
        """The answers that were sent next, to what waits now; empty when there are no more.

        Raises: DecisionMismatch where one was made on something else.
        """
        self._left = self._where_it_holds(cards)
        due = _first(self._left)
        named = {record.interrupt_id for record in due}
        waiting = {card.id: _Waits(card.id, card.kind, shown_of(card)) for card in cards}
        free = [one for one in waiting.values() if one.id not in named]
        pairs: list[Pair] = []
        for record in due:
            one = waiting.get(record.interrupt_id)
            if one is None:  # ids count along a thread, so on another thread it may have another one
                one = next((one for one in free if (one.kind, one.shown) == (record.kind, record.shown)), None)
                one = one or self._nearest(record, free)
                free.remove(one)
            self._check(record, one)
            pairs.append((one.id, self._instead.get(record.interrupt_id, record.answered)))
        self._left = self._left[len(due) :]
        return pairs

    def _where_it_holds(self, cards: Sequence[PendingCard]) -> list[DecisionRecord]:
        """What is left, without the breakpoints due now at which nothing is held: to proceed decides nothing of a turn, and holds
        that a person set by hand are not set in a replay."""
        held = {(card.node, card.phase) for card in cards if card.kind == "BREAKPOINT"}
        left = list(self._left)
        while True:
            due = _first(left)
            stays = [record for record in due if record.kind != "BREAKPOINT" or _place(record.shown) in held]
            left = [*stays, *left[len(due) :]]
            if stays or not due:
                return left

    def unused(self) -> list[str]:
        """A line for each decision that was not asked for."""
        return [
            f"the decision on '{record.interrupt_id}' ({_about(record.shown)}) was not asked for"
            for record in self._left
            if record.kind != "BREAKPOINT"
        ]

    def _nearest(self, record: DecisionRecord, free: Sequence[_Waits]) -> _Waits:
        """What is most likely meant, to say how it differs. Raises: DecisionMismatch where nothing comes near."""
        for one in free:
            if one.kind == record.kind and _about(one.shown) == _about(record.shown):
                return one
        waiting = [_whole(one.kind, one.shown) for one in free] or NOTHING
        difference = ShownDifference(field="what waits", decided_on=_whole(record.kind, record.shown), now=waiting)
        raise DecisionMismatch(thread_id=self._thread_id, interrupt_id=record.interrupt_id, differences=[difference])

    def _check(self, record: DecisionRecord, one: _Waits) -> None:
        differences = list(_differences(_whole(record.kind, record.shown), _whole(one.kind, one.shown), ""))
        if differences:
            if one.id != record.interrupt_id:
                differences.insert(0, ShownDifference(field="interrupt", decided_on=record.interrupt_id, now=one.id))
            raise DecisionMismatch(thread_id=self._thread_id, interrupt_id=record.interrupt_id, differences=differences)


def _first(records: Sequence[DecisionRecord]) -> list[DecisionRecord]:
    """What was sent first, together; a decision of which the log does not say so was sent alone."""
    run = records[0].run if records else None
    return list(records[:1] if run is None else takewhile(lambda record: record.run == run, records))


def _place(shown: Json) -> tuple[Json, Json]:
    fields = cast("dict[str, Json]", shown) if isinstance(shown, dict) else {}
    return fields.get("node"), fields.get("phase")


def _whole(kind: str, shown: Json) -> Json:
    """What is compared. A record made by hand may hold anything as shown."""
    return {"kind": kind, **(cast("dict[str, Json]", shown) if isinstance(shown, dict) else {"shown": shown})}


def _about(shown: Json) -> str:
    fields = cast("dict[str, Json]", shown) if isinstance(shown, dict) else {}
    return next((str(fields[name]) for name in ("tool_name", "middleware", "node") if fields.get(name)), "?")


def _differences(was: Json, now: Json, path: str) -> Iterator[ShownDifference]:
    """Every place where two JSON values differ; `1`, `1.0` and `true` are three values."""
    if isinstance(was, dict) and isinstance(now, dict):
        before, after = cast("dict[str, Json]", was), cast("dict[str, Json]", now)
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _differences(before.get(name, NOTHING), after.get(name, NOTHING), f"{path}.{name}" if path else name)
        return
    if isinstance(was, list) and isinstance(now, list):
        items, others = cast("list[Json]", was), cast("list[Json]", now)
        if len(items) == len(others):
            for at, (item, other) in enumerate(zip(items, others, strict=True)):
                yield from _differences(item, other, f"{path}[{at}]")
            return
    if type(cast(object, was)) is not type(cast(object, now)) or was != now:
        yield ShownDifference(field=path, decided_on=cast(object, was), now=cast(object, now))

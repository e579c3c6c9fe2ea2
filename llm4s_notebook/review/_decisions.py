"""Decisions taken out of a log: of a thread, of a turn, ready to be given again (L3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ConfigError
from ._decision_test import source_of_test
from ._recorded_turn import RecordedTurn


@dataclass(frozen=True, slots=True, repr=False)
class Decisions:
    """Some of a log's decisions, as they were when they were taken out. `DecisionLog.of` makes it.

    `instead` are answers by interrupt id that are given in place of the recorded ones: a secret, which no log holds, or another
    decision.
    """

    file: str
    turns: tuple[RecordedTurn, ...]
    instead: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def only(self, why: str) -> RecordedTurn:
        """The one turn there is. Raises: ConfigError listing them where there are none or several; `why` says what one is for."""
        if len(self.turns) == 1:
            return self.turns[0]
        if not self.turns:
            raise ConfigError(field="decisions", problems=[f"{self.file} has no decisions on anything that waited, {why}"])
        listed = "; ".join(f"[{at}] {turn}" for at, turn in enumerate(self.turns))
        raise ConfigError(
            field="decisions",
            problems=[f"{self.file} has the decisions of {len(self.turns)} turns, {why}: {listed}"],
            next_step="choose one with log.of(turn=…) or log.of(thread_id, turn=…)",
        )

    def for_turn(self, query: Any, last: str | None, *, open: bool) -> RecordedTurn | None:
        """The turn to replay: the only one; else the one that the thread is in the middle of; else the one of this query (L3.1).

        `last` is the thread's last turn, and `open` says that it is in the middle of it. None where no turn is recorded.

        Raises: ConfigError listing the turns where that is not one.
        """
        if not self.turns:
            return None
        if len(self.turns) > 1:
            same = [turn for turn in self.turns if last is not None and turn.turn == last]
            asked = [turn for turn in self.turns if query is not None and turn.query == query]
            found = same if open and same else asked
            if len(found) > 1:  # asked the same more than once
                found = [turn for turn in found if turn in same]
            if len(found) == 1:
                return found[0]
        return self.only("and which of them to replay cannot be told")

    def to_test(self, agent: str, *, query: Any = None, result: Any = None) -> str:
        """The source of a pytest file that replays these turns, one after the other on one new thread. As `DecisionLog.to_test`."""
        threads = {turn.thread_id for turn in self.turns}
        if len(threads) != 1:
            self.only("and a test is of one thread")
        return source_of_test(agent, self.turns, query=query, result=result)

    def __len__(self) -> int:
        return sum(len(turn.records) for turn in self.turns)

    def __repr__(self) -> str:
        count, turns = len(self), len(self.turns)
        return f"Decisions({self.file!r}: {count} decision{'s' if count != 1 else ''} in {turns} turn{'s' if turns != 1 else ''})"

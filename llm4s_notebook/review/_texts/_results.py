"""What the guardrails made of each text now and before, and how each text stands (T2.2, T2.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...agent import GuardrailPhase, GuardrailReview
from ...errors import ConfigError, printable
from ...wire import TextMark
from ._check import Checked, Labelled
from ._find import Standing, TextFilter
from ._given import Texts
from ._memory import Key, TextVerdict, VerdictMemory
from ._tally import Tally


class Results:
    """The results of one list of guardrails over the texts, with the person's verdicts beside them.

    `version` grows whenever a list of texts may have changed; a verdict alone changes none, since it leaves its text in place.
    """

    def __init__(
        self,
        texts: Texts,
        guardrails: Sequence[Labelled],
        phase: GuardrailPhase,
        memory: VerdictMemory,
        before: Sequence[Checked | None] | None = None,
    ) -> None:
        self.texts = texts
        self.phase = phase
        self.memory = memory
        self.version = 0
        self.labels = tuple(one.label for one in guardrails)  # the guardrails by the names they are shown under
        self._before = before if before is not None and any(before) else None
        self._keys = [printable(text) for text in texts.values]  # as verdicts are kept
        self._places: dict[str, list[int]] = {}
        for position, text in enumerate(self._keys):
            self._places.setdefault(text, []).append(position)
        self._set_all([None] * len(texts))

    def _set_all(self, now: Sequence[Checked | None]) -> None:
        self.tally = Tally(self.labels)
        self._standings = [self._made(position, checked) for position, checked in enumerate(now)]
        for standing in self._standings:
            self.tally.count(standing, 1)

    def _made(self, position: int, now: Checked | None) -> Standing:
        verdict = self.verdict(position)
        waits = now is not None and now.outcome in ("refused", "error")
        mark: TextMark = verdict.mark if verdict is not None else "undecided" if waits else "none"
        return Standing(now, None if self._before is None else self._before[position], mark)

    def _set(self, position: int, now: Checked | None) -> None:
        self.tally.count(self._standings[position], -1)
        self._standings[position] = self._made(position, now)
        self.tally.count(self._standings[position], 1)

    # -- results -----------------------------------------------------------------------------------------------------

    @property
    def checked(self) -> int:
        """How many texts have been checked."""
        return self.tally.checked

    @property
    def compared(self) -> bool:
        """Whether there are results of other guardrails, or of an earlier run, to compare with."""
        return self._before is not None

    def latest(self) -> tuple[Checked | None, ...]:
        """What the next guardrails are compared with: each text's newest result."""
        return tuple(one.now if one.now is not None else one.before for one in self._standings)

    def unchecked(self) -> list[int]:
        return [position for position, one in enumerate(self._standings) if one.now is None]

    def start_anew(self) -> None:
        """The present results become what the next are compared with."""
        self._before = self.latest()
        self._set_all([None] * len(self._standings))
        self.version += 1

    def put(self, position: int, checked: Checked) -> None:
        """Take in the result of one text."""
        self._set(position, checked)
        if self._standings[position].lists != ["all"]:
            self.version += 1

    def judged(self, key: Key) -> list[int]:
        """A verdict was given or taken back: the positions of its text, whose marks are what they should be now."""
        positions = self.having(key)
        for position in positions:
            self._set(position, self._standings[position].now)
        return positions

    # -- one text ----------------------------------------------------------------------------------------------------

    def verdict(self, position: int) -> TextVerdict | None:
        return self.memory.get((self.phase, self._keys[position]))

    def standing(self, position: int) -> Standing:
        return self._standings[position]

    def shown(self, position: int) -> GuardrailReview:
        """What a verdict on this text is about. Raises: ConfigError for a text about which there is nothing to decide."""
        now = self._standings[position].now
        if now is not None and now.guardrail is not None:
            return GuardrailReview(self.phase, now.guardrail, now.reason, self._keys[position])
        verdict = self.verdict(position)
        if verdict is not None:
            return verdict.review
        said = "is not checked yet: run the guardrails first" if now is None else "passes every guardrail: there is nothing to decide"
        raise ConfigError(field="decide", problems=[f"text {self.texts.ids[position]!r} {said}"])

    def is_at(self, position: int, text: str) -> bool:
        """Whether this text stands there."""
        return position < len(self._keys) and self._keys[position] == printable(text)

    def having(self, key: Key) -> list[int]:
        """The positions of a verdict's text: equal texts share it."""
        return list(self._places.get(key[1], ())) if key[0] == self.phase else []

    # -- many --------------------------------------------------------------------------------------------------------

    def refused(self) -> list[int]:
        return [position for position, one in enumerate(self._standings) if one.now is not None and one.now.failures]

    @property
    def left(self) -> int:
        """How many refused texts have no verdict."""
        return self.tally.total.undecided

    def find(self, wanted: TextFilter) -> tuple[list[int], list[TextMark]]:
        """The positions that the filter finds, in the order of the texts, and each one's mark."""
        found = [position for position in self._positions() if self._finds(wanted, position)]
        return found, [self._standings[position].mark for position in found]

    def _positions(self) -> Iterable[int]:
        return range(len(self._standings))

    def _finds(self, wanted: TextFilter, position: int) -> bool:
        return wanted.finds(self.texts.values[position], str(self.texts.ids[position]), self._standings[position])

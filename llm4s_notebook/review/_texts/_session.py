"""`TextSession`: guardrails run over many texts, and a person's verdicts on what they refuse. All of `TextReview` but its drawing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from ...agent import GuardrailPhase, GuardrailVerdict
from ...checkpoint import Clock, SystemClock
from ...errors import ConfigError
from ...guardrails import Guardrail, as_guardrails
from ...models import is_blank
from ...wire import TextMarks, TextShow, TextsState
from .._decision_log import DecisionLog
from .._drafts import Drafts
from .._front_end import front_end
from .._home import TICK, Home
from .._interrupted import told_when_interrupted
from .._observers import Observers, Pacer
from ._changes import TextChanges
from ._check import labelled
from ._export import dataframe, record
from ._find import TextFilter
from ._given import Texts, texts_of
from ._given_verdict import Verdict, check_verdict, verdict_of
from ._memory import Key, TextVerdict, VerdictMemory
from ._project import document
from ._refusal import TextRefusal
from ._requests import Say, TextDesk
from ._results import Results
from ._runner import Runner
from ._table import TextTable

AT_ONCE = 8
"""So many texts are checked side by side unless told otherwise."""
PROGRESS_EVERY = 0.2
"""Seconds between two pictures of a run that goes on."""

TextReviewer: TypeAlias = Callable[[TextRefusal], Verdict | Awaitable[Verdict | None] | None]
"""Is given each refused text that has no verdict, and gives one, or does not (None)."""


class TextSession:
    """Texts, guardrails and verdicts. Usable from several threads; the guardrails run on the first event loop it is used from.

    `texts` is a list, a pandas Series, a mapping of id to text, (id, text) pairs, or any other iterable of texts. `phase` says
    which text of a turn they stand for: verdicts are kept by phase and text. `decisions` is a `DecisionLog`: each verdict is
    written to it before it counts, and those it has are taken up. `principal` is who decides, for the log.

    Raises: ConfigError for texts that are none, guardrails that are none, or a concurrency below 1; what the log raises.
    """

    def __init__(
        self,
        texts: Any,
        guardrails: Iterable[Guardrail] | Guardrail,
        *,
        phase: GuardrailPhase = GuardrailPhase.OUTPUT,
        decisions: DecisionLog | None = None,
        principal: str | None = None,
        concurrency: int = AT_ONCE,
        clock: Clock = SystemClock(),  # noqa: B008 - holds no state
        previous: TextSession | None = None,
    ) -> None:
        """`previous` is the session this one follows: its verdicts are shared, and its results are what this one is compared with."""
        self.phase = _phase(phase)
        self.guardrails = as_guardrails(guardrails)
        self.concurrency = _concurrency(concurrency)
        self._clock = clock
        self._texts = texts if isinstance(texts, Texts) else texts_of(texts)
        self._places: dict[Any, list[int]] = {}
        for position, label in enumerate(self._texts.ids):
            self._places.setdefault(label, []).append(position)
        shown = labelled(self.guardrails)
        memory = previous._memory if previous is not None else VerdictMemory(decisions, principal, clock)
        self._memory = memory
        self._results = Results(self._texts, shown, self.phase, memory, None if previous is None else previous._results.latest())
        self._observers: Observers[TextsState] = Observers()
        self._revision = 0
        self._home = Home(self._moved)
        self._runner = Runner(self._home, self._results, shown, self.concurrency, clock, progressed=self._progressed, changed=self._changed)
        self._pacer = Pacer(self._push, PROGRESS_EVERY)
        self.drafts = Drafts()
        self._desk = TextDesk(self._home, self._results, self._runner, self.drafts, clock, give=self._give, undo=self.undo)
        memory.changed.add(self._verdict_changed)
        self._home.adopt()

    # -- running -----------------------------------------------------------------------------------------------------

    async def run(self, *, again: bool = False) -> None:
        """Check every text that is not checked yet; with `again` all of them anew, compared with what was.

        Returns when all are checked, or when `cancel` was called; then a next run goes on with the rest. A run under way is
        joined. Raises: what ended the run badly; a guardrail's exception does not, it is shown as its error on that text.
        """
        with told_when_interrupted("the check was stopped, and what is checked is kept", "run() goes on with the rest"):
            await self._runner.run(again=again)

    def begin(self, *, again: bool = False) -> None:
        """`run` in the background. Raises: ConfigError where no event loop runs."""
        self._runner.begin(again=again)

    def cancel(self) -> bool:
        """Stop the run under way and keep what it has checked. False where none is."""
        return self._runner.cancel()

    @property
    def running(self) -> bool:
        """Whether the guardrails are at work."""
        return self._runner.running

    def with_guardrails(self, guardrails: Iterable[Guardrail] | Guardrail) -> TextSession:
        """The same texts and verdicts under other guardrails, not run yet; its results will be compared with these."""
        return TextSession(self._texts, guardrails, phase=self.phase, concurrency=self.concurrency, clock=self._clock, previous=self)

    # -- deciding ----------------------------------------------------------------------------------------------------

    @property
    def refusals(self) -> list[TextRefusal]:
        """The refused texts in the order given, each with its verdict if it has one."""
        return [self._refusal(position) for position in self._results.refused()]

    @property
    def left(self) -> int:
        """How many refused texts have no verdict."""
        return self._results.left

    @property
    def verdicts(self) -> dict[str, TextVerdict]:
        """The verdicts on these texts, by text and in the order of the texts."""
        found = ((text, self._results.verdict(position)) for position, text in enumerate(self._texts.values))
        return {text: verdict for text, verdict in found if verdict is not None}

    def decide(self, which: TextRefusal | Any, verdict: Verdict, *, note: str | None = None) -> TextVerdict:
        """Give a verdict on a text: a refusal, or its id. It holds for every equal text, and takes the place of one before.

        Raises: ConfigError for an id that is none, that several different texts have, or whose text there is nothing to decide
        about; for a blank edit (4.1.4), one that changes nothing, a note that is no text; what the log raises. Then nothing has changed.
        """
        if isinstance(which, TextRefusal):
            position = which.position
            if not self._results.is_at(position, which.text):
                raise ConfigError(field="decide", problems=[f"the refusal of text {which.id!r} is of another review, of other texts"])
        else:
            position = self._position(which)
        return self._give(position, verdict_of(verdict), note, None)

    def _give(self, position: int, verdict: GuardrailVerdict, note: str | None, seconds: float | None) -> TextVerdict:
        shown = self._results.shown(position)
        check_verdict(verdict, self._texts.values[position], note)
        return self._memory.give(shown, verdict, note if note is not None and not is_blank(note) else None, seconds)

    def undo(self) -> Key | None:
        """Take back the last verdict that was given in this process. None where there is none."""
        return self._memory.undo()

    async def decide_each(self, reviewer: TextReviewer) -> int:
        """Ask a function about each refused text that has no verdict; returns how many verdicts it gave. Raises: as `decide`."""
        given = 0
        for refusal in self.refusals:
            if self._results.verdict(refusal.position) is not None:  # an equal text may have been decided a moment ago
                continue
            verdict = reviewer(refusal)
            if inspect.isawaitable(verdict):
                verdict = await verdict
            if verdict is not None:
                self.decide(refusal, verdict)
                given += 1
        return given

    async def reviewed(self, *, unattended: TextReviewer | None = None) -> None:
        """Return when every refused text has a verdict, whoever gives it.

        Where nobody is there - the running request allows no input, or there is no notebook - `unattended` is asked instead. An
        interrupt ends the waiting and nothing else. Raises: ConfigError at once where a cell cannot wait, where nobody is there
        and texts are left, and where no text is checked yet.
        """
        if unattended is not None and not callable(unattended):
            problem = f"a function is wanted that is given each refused text and returns a verdict, not {type(unattended).__name__}"
            raise ConfigError(field="unattended", problems=[problem])
        if len(self) and not self.running and not self._results.checked:
            problem = "no text is checked yet, so nobody knows what is refused"
            raise ConfigError(field="reviewed", problems=[problem], next_step="run the guardrails first: await review.run()")
        front = front_end()
        if front is None or not front.somebody_there():
            if self.running:
                await self.run()
            if unattended is not None:
                await self.decide_each(unattended)
            if self.left:
                waits = "1 refused text waits" if self.left == 1 else f"{self.left} refused texts wait"
                problem = f"{waits} for a verdict and nobody is there to give one"
                raise ConfigError(field="unattended", problems=[problem], next_step="give `unattended=`, or use decide(…) in code")
            return
        reason = front.cannot_wait()
        if reason is not None and self.left:
            raise ConfigError(field="reviewed", problems=[reason])
        with told_when_interrupted("this cell waits no more, and every verdict is kept", "decide all the same; reviewed() waits again"):
            while self.running or self.left:  # noqa: ASYNC110 - an interrupt is seen only when the loop wakes
                await asyncio.sleep(TICK)

    # -- what came of it ---------------------------------------------------------------------------------------------

    def table(self) -> TextTable:
        """Guardrail by verdict, as a cell's value or for code."""
        return self._results.tally.table()

    @property
    def changes(self) -> TextChanges:
        """What is new against the results before, and where the guardrails now agree or disagree with the person."""
        return TextChanges(self._listed("newly_refused"), self._listed("newly_passing"), self._listed("mended"), self._listed("missed"))

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each text; the fields are listed as `COLUMNS`."""
        return [
            record(label, text, self._results.standing(position), self._results.verdict(position))
            for position, (label, text) in enumerate(zip(self._texts.ids, self._texts.values, strict=True))
        ]

    def to_dataframe(self) -> Any:
        """The rows as a `pandas.DataFrame` under the texts' own index or ids. Raises: ConfigError where pandas is not installed."""
        return dataframe(self.to_records(), self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    # -- what views draw ---------------------------------------------------------------------------------------------

    def state(self) -> TextsState:
        """The document the views draw, as it is now."""
        return document(self._results, self._runner, self._revision, self._clock.now())

    def observe(self, callback: Callable[[TextsState], None]) -> Callable[[], None]:
        """Call `callback` with each new document; the function returned ends that."""
        return self._observers.add(callback)

    def observe_messages(self, callback: Callable[[Say], None]) -> Callable[[], None]:
        """Call `callback` with what every view is told beside the document: marks and drafts."""
        return self._desk.pushes.add(callback)

    def handle(self, content: object, reply: Callable[[Say], None]) -> None:
        """Carry out a browser's request and reply exactly once, from whatever thread it arrives on (W1.5)."""
        self._desk.receive(content, reply)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _refusal(self, position: int) -> TextRefusal:
        checked = self._results.standing(position).now
        failures = () if checked is None else checked.failures
        return TextRefusal(position, self._texts.ids[position], self._results.shown(position), failures, self._results.verdict(position))

    def _listed(self, show: TextShow) -> tuple[Any, ...]:
        positions, _ = self._results.find(TextFilter(show))
        return tuple(self._texts.ids[position] for position in positions)

    def _position(self, label: Any) -> int:
        try:
            places = self._places.get(label, [])
        except TypeError:  # a list, say: it cannot be looked up
            places = []
        texts = {self._texts.values[place] for place in places}
        if len(texts) == 1:
            return places[0]
        said = "several different texts have" if texts else "no text has"
        raise ConfigError(field="decide", problems=[f"{said} the id {label!r}; give one of `refusals`"])

    def _moved(self) -> None:
        self._runner.moved()
        self._pacer = Pacer(self._push, PROGRESS_EVERY)

    def _progressed(self) -> None:
        self._pacer.soon()

    def _changed(self) -> None:
        self._here(self._pacer.now)

    def _verdict_changed(self, key: Key) -> None:
        positions = self._results.judged(key)
        if not positions:
            return  # of another phase, or of texts that are not among these
        mark = self._results.standing(positions[0]).mark

        def told() -> None:
            self._desk.tell(TextMarks(kind="marks", positions=positions, mark=mark))
            self._pacer.soon()

        self._here(told)

    def _here(self, told: Callable[[], None]) -> None:
        """Call it on the home loop: before this returns where that is the loop running here, else soon."""
        if self._home.adopt():
            told()
        elif not self._home.post(told):
            self._revision += 1  # no loop, so nobody is told; the next reader sees it

    def _push(self) -> None:
        self._revision += 1
        if len(self._observers):
            self._observers.tell(self.state())

    def __repr__(self) -> str:
        return f"TextSession({len(self._texts)} texts, {len(self.guardrails)} guardrails)"


def _phase(phase: object) -> GuardrailPhase:
    if not isinstance(phase, GuardrailPhase):
        raise ConfigError(field="phase", problems=[f"it is GuardrailPhase.INPUT or GuardrailPhase.OUTPUT, not {phase!r}"])
    return phase


def _concurrency(given: object) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise ConfigError(field="concurrency", problems=[f"it is a number of texts from 1 on, not {given!r}"])
    return given

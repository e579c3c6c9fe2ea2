"""Guardrails over many texts, and a person's verdicts on what they refuse: the widget that draws a `TextSession` (T1 to T3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..agent import GuardrailPhase, GuardrailVerdict
from ..errors import ConfigError
from ..guardrails import Guardrail
from ..review import DecisionLog, TextChanges, TextRefusal, TextReviewer, TextSession, TextTable, TextVerdict
from ._bundle import script
from ._drawn import DrawnWidget
from ._texts_twin import as_html, as_text, headline


class TextReview(DrawnWidget):
    """Run guardrails over texts, decide on what they refuse, tune them, and see what changes.

    `texts` is a list, a pandas Series, a mapping of id to text, (id, text) pairs or any other iterable of texts; `guardrails` are
    what `GuardrailMiddleware` takes. `phase` says which text of a turn they stand for: verdicts are kept by phase and text.
    `decisions`, a `DecisionLog`, keeps every verdict in a file, and the verdicts it has are taken up. `principal` is who decides, for
    that log. `concurrency` texts are checked side by side. Instead of texts a `TextSession` may be given, alone, which is drawn as it is.

    Everything works without a front end. Raises: ConfigError for texts or guardrails that are none, naming each place.
    """

    _esm = script("text_review")

    def __init__(
        self,
        texts: Any,
        guardrails: Iterable[Guardrail] | Guardrail = (),
        *,
        phase: GuardrailPhase = GuardrailPhase.OUTPUT,
        decisions: DecisionLog | None = None,
        principal: str | None = None,
        concurrency: int = 8,
    ) -> None:
        if isinstance(texts, TextSession) and (guardrails != () or decisions is not None or principal is not None):
            problem = "a TextSession has guardrails, decisions and a principal of its own: give it alone"
            raise ConfigError(field="texts", problems=[problem])
        self._session = (
            texts
            if isinstance(texts, TextSession)
            else TextSession(texts, guardrails, phase=phase, decisions=decisions, principal=principal, concurrency=concurrency)
        )
        super().__init__(state=self._session.state().model_dump(mode="json"))
        self.on_msg(self._on_message)  # pyright: ignore[reportUnknownMemberType]  # ipywidgets is not typed
        self._stops = (self._session.observe(self._draw), self._session.observe_messages(self._say))

    # -- what a person does ------------------------------------------------------------------------------------------

    async def run(self, *, again: bool = False) -> TextReview:
        """Check every text that is not checked yet, with `again` all of them anew; returns this review, to be a cell's value.

        It returns too when `cancel` was called or clicked; what is checked stays, and the next run goes on with the rest. Interrupting
        the cell cancels the run. A guardrail that raises something other than a refusal is shown as failing on that text.
        """
        await self._session.run(again=again)
        return self

    def cancel(self) -> bool:
        """Stop the run under way and keep what it has checked. False where none is."""
        return self._session.cancel()

    def with_guardrails(self, guardrails: Iterable[Guardrail] | Guardrail) -> TextReview:
        """A review of the same texts under other guardrails, to be run: it shares the verdicts, and shows what is newly refused and
        what newly passes beside this one."""
        return TextReview(self._session.with_guardrails(guardrails))

    def decide(self, which: Any, verdict: GuardrailVerdict | Any, *, note: str | None = None) -> TextVerdict:
        """Give a verdict in code: on one of `refusals`, or on the text of an id; "allow", "block" or a `GuardrailVerdict`.

        It holds for every equal text, and takes the place of one before. Raises: ConfigError for an id that is none or that several
        different texts have, a text about which there is nothing to decide, an edit that is blank or changes nothing.
        """
        return self._session.decide(which, verdict, note=note)

    def undo(self) -> bool:
        """Take back the last verdict given since the kernel started. False where there is none."""
        return self._session.undo() is not None

    async def reviewed(self, *, unattended: TextReviewer | None = None) -> TextReview:
        """Wait until every refused text has a verdict; returns this review.

        Where nobody is there (nbconvert, CI) the function given as `unattended` is asked about each refused text; without one it raises
        at once and says how many texts wait. Interrupting the cell ends the waiting only.
        """
        await self._session.reviewed(unattended=unattended)
        return self

    # -- what came of it ---------------------------------------------------------------------------------------------

    @property
    def session(self) -> TextSession:
        """What it draws."""
        return self._session

    @property
    def refusals(self) -> list[TextRefusal]:
        """The refused texts in the order given, each with its verdict if it has one."""
        return self._session.refusals

    @property
    def left(self) -> int:
        """How many refused texts have no verdict."""
        return self._session.left

    @property
    def verdicts(self) -> dict[str, TextVerdict]:
        """The verdicts on these texts, by text and in the order of the texts."""
        return self._session.verdicts

    def table(self) -> TextTable:
        """Guardrail by verdict: refused, right (blocked), false alarms (allowed), edited, undecided, fixed, errors."""
        return self._session.table()

    @property
    def changes(self) -> TextChanges:
        """The ids of what is newly refused and newly passes against the results before; of allowed texts that pass now (`mended`), and
        of blocked ones that pass now (`missed`)."""
        return self._session.changes

    def to_records(self) -> list[dict[str, Any]]:
        """One row for each text: id, text, outcome, guardrail, reason, passed_on, before, verdict, edited, note, decided_at, decided_by."""
        return self._session.to_records()

    def to_dataframe(self) -> Any:
        """The rows as a `pandas.DataFrame`, under the index of the Series the texts came from or under their ids.

        Raises: ConfigError saying how to install pandas where it is missing.
        """
        return self._session.to_dataframe()

    # -- from the browser --------------------------------------------------------------------------------------------

    def _on_message(self, _widget: object, content: object, _buffers: object) -> None:
        self._session.handle(content, self._say)

    # -- without a front end -----------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._session)

    def __bool__(self) -> bool:
        return True  # one without texts is a review all the same

    def __repr__(self) -> str:
        return f"TextReview({headline(self._session)})"

    def _twins(self) -> dict[str, str]:
        return {"text/plain": as_text(self._session), "text/html": as_html(self._session)}

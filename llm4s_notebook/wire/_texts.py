"""What a text review and its browser views exchange: one small document, and lists that a view asks for page by page (T3.1).

The document stays small however many texts there are. Which texts a filter finds comes as positions, what a row shows comes for the
rows on screen, and a whole text comes when it is opened.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ._base import WireModel
from ._message import Done, Drafts, Refusal, Welcome
from ._request import Cancel, Hello, Id, SaveDraft
from ._session import ErrorView

TextShow = Literal["refused", "errors", "fixed", "newly_refused", "newly_passing", "mended", "missed", "all"]
TextOutcome = Literal["refused", "error", "passed", "unchecked"]
TextMark = Literal["undecided", "allow", "edit", "block", "none"]
AnyVerdict = Literal["any", "undecided", "allow", "edit", "block"]

MOST_ROWS = 500
"""So many rows may be asked for at once."""

Position = Annotated[int, Field(ge=0)]

# -- kernel to browser -----------------------------------------------------------------------------------------------


class GuardrailCounts(WireModel):
    """One row of the table: texts that this guardrail refused, by verdict; texts it changed; texts it failed on (T2.3)."""

    guardrail: str
    refused: int
    block: int
    allow: int
    edit: int
    undecided: int
    fixed: int
    errors: int


class TextCounts(WireModel):
    """How many texts each choice of `show` finds; None where there is nothing to compare with."""

    refused: int
    errors: int
    fixed: int
    newly_refused: int | None
    newly_passing: int | None
    mended: int
    missed: int
    all: int


class TextsState(WireModel):
    """The document of a text review that every view draws."""

    revision: int
    results: int  # changes when other texts may be found than before; verdicts alone do not change it
    phase: Literal["input", "output"]
    total: int
    checked: int
    running: bool
    cancelling: bool
    per_second: float | None  # texts checked each second by the run under way, or the last one
    guardrails: list[str]
    table: list[GuardrailCounts]
    totals: GuardrailCounts  # each text once
    counts: TextCounts
    storage: str  # where verdicts are kept, in words
    can_undo: bool
    error: ErrorView | None
    updated_at_ms: int


class TextRow(WireModel):
    """One line of the list."""

    position: int
    id: str
    excerpt: str
    guardrail: str | None  # the first that refused it, or failed on it
    outcome: TextOutcome
    mark: TextMark


class TextReason(WireModel):
    """What one guardrail did with a text: refused it and why, failed and how, or changed it (then without a text)."""

    guardrail: str
    did: Literal["refused", "error", "fixed"]
    reason: str


class TextVerdictView(WireModel):
    verdict: Literal["allow", "edit", "block"]
    text: str | None  # the text in its place, exactly with "edit"
    note: str | None
    at_ms: int
    by: str | None


class FoundTexts(WireModel):
    """The reply to find: positions in the order of the texts, and for each one letter of its mark: u, a, e, b, n."""

    kind: Literal["found"]
    request_id: str
    results: int
    positions: list[int]
    marks: str


class TextRows(WireModel):
    """The reply to rows."""

    kind: Literal["rows"]
    request_id: str
    rows: list[TextRow]


class OpenedText(WireModel):
    """The reply to open: all there is about one text."""

    kind: Literal["opened"]
    request_id: str
    position: int
    id: str
    text: str
    cut: int  # characters that were left away at the end of `text`
    made_of_it: str | None  # what the guardrails made of a text that they changed
    outcome: TextOutcome
    reasons: list[TextReason]
    before: TextOutcome | None  # what the previous guardrails made of it
    mark: TextMark
    verdict: TextVerdictView | None


class Decided(WireModel):
    """The reply to decide and undo: what was done, and the text that it was done to."""

    kind: Literal["decided"]
    request_id: str
    said: str
    position: int
    left: int


class TextMarks(WireModel):
    """Pushed to every view when a verdict was given or taken back, here or in code: these texts have this mark now."""

    kind: Literal["marks"]
    positions: list[int]
    mark: TextMark


TextsMessage = Annotated[
    Done | Welcome | Refusal | Drafts | FoundTexts | TextRows | OpenedText | Decided | TextMarks, Field(discriminator="kind")
]

# -- browser to kernel -----------------------------------------------------------------------------------------------


class FindTexts(WireModel):
    """Which texts to list (T2.4)."""

    kind: Literal["find"]
    show: TextShow
    verdict: AnyVerdict
    guardrail: Annotated[str, Field(max_length=1000)] | None
    search: Annotated[str, Field(max_length=1000)]


class ReadRows(WireModel):
    """What the rows at these positions show."""

    kind: Literal["rows"]
    positions: Annotated[list[Position], Field(max_length=MOST_ROWS)]


class OpenText(WireModel):
    """The whole of one text; a decision about it is timed from here."""

    kind: Literal["open"]
    position: Position


class DecideText(WireModel):
    """A verdict on one text; `text` goes exactly with "edit"."""

    kind: Literal["decide"]
    position: Position
    verdict: Literal["allow", "edit", "block"]
    text: str | None
    note: str | None


class UndoVerdict(WireModel):
    """Take the last verdict back."""

    kind: Literal["undo"]


class RunGuardrails(WireModel):
    """Check what is not checked; with `again` everything."""

    kind: Literal["run"]
    again: bool


TextsRequestBody = Annotated[
    Hello | FindTexts | ReadRows | OpenText | DecideText | UndoVerdict | RunGuardrails | Cancel | SaveDraft, Field(discriminator="kind")
]


class TextsRequest(WireModel):
    """The envelope, as a session's."""

    request_id: Id
    body: TextsRequestBody


texts_request_adapter: TypeAdapter[TextsRequest] = TypeAdapter(TextsRequest)

"""What a browser asks of a text review, carried out: a request in, exactly one reply out (W1.5). It can name only texts that are here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ...agent import GuardrailVerdict
from ...checkpoint import Clock
from ...errors import ConfigError
from ...wire import (
    Cancel,
    Decided,
    DecideText,
    Done,
    FindTexts,
    FoundTexts,
    Hello,
    OpenedText,
    OpenText,
    ReadRows,
    Refusal,
    RunGuardrails,
    SaveDraft,
    TextMarks,
    TextRows,
    TextsRequest,
    UndoVerdict,
    Welcome,
    texts_request_adapter,
)
from ...wire import (
    Drafts as DraftsMessage,
)
from .._drafts import Drafts
from .._home import Home
from .._observers import Observers
from .._project import error_view
from .._receipts import Receipts
from ._find import TextFilter
from ._memory import Key, TextVerdict
from ._project import LETTERS, LONGEST_TEXT, opened, rows
from ._results import Results
from ._runner import Runner

Say = Done | Welcome | Refusal | DraftsMessage | FoundTexts | TextRows | OpenedText | Decided | TextMarks
Give = Callable[[int, GuardrailVerdict, "str | None", "float | None"], TextVerdict]

_DID = {"allow": "allowed", "edit": "edited", "block": "blocked"}


class TextDesk:
    """Takes a text review's requests. `pushes` are told of marks and drafts that have changed."""

    def __init__(
        self,
        home: Home,
        results: Results,
        runner: Runner,
        drafts: Drafts,
        clock: Clock,
        *,
        give: Give,
        undo: Callable[[], Key | None],
    ) -> None:
        self.pushes: Observers[Say] = Observers()
        self._home = home
        self._results = results
        self._runner = runner
        self._drafts = drafts
        self._clock = clock
        self._give = give
        self._undo = undo
        self._receipts: Receipts[TextsRequest, Say] = Receipts(texts_request_adapter, self._refusal)
        self._opened: dict[int, datetime] = {}

    def tell(self, news: Say) -> None:
        """Say it to every view."""
        self.pushes.tell(news)

    def receive(self, content: object, reply: Callable[[Say], None]) -> None:
        """Check the message's shape where it arrives, and carry it out on the review's loop."""
        taken = self._receipts.take(content, reply)
        if taken is None:
            return
        request, receipt = taken
        if not self._home.post(lambda: self._receipts.close(receipt, self._answer(request))):
            problem = "no event loop runs that could carry it out; use the widget in a notebook's kernel"
            self._receipts.close(receipt, self._refusal(request.request_id, ConfigError(field="review", problems=[problem])))

    def _answer(self, request: TextsRequest) -> Say:
        try:
            return self._carry_out(request)
        except Exception as error:
            return self._refusal(request.request_id, error)

    def _refusal(self, request_id: str, error: Exception) -> Say:
        return Refusal(kind="refused", request_id=request_id, error=error_view(error, self._clock.now()), problems=[])

    # -- one request -------------------------------------------------------------------------------------------------

    def _carry_out(self, request: TextsRequest) -> Say:
        body, request_id = request.body, request.request_id
        match body:
            case Hello():
                return Welcome(kind="welcome", request_id=request_id, revision=0, drafts=self._drafts.all())
            case FindTexts():
                return self._find(body, request_id)
            case ReadRows():
                return TextRows(kind="rows", request_id=request_id, rows=rows(self._results, [self._here(one) for one in body.positions]))
            case OpenText():
                self._opened[self._here(body.position)] = self._clock.now()
                return opened(self._results, body.position, request_id)
            case DecideText():
                return self._decide(body, request_id)
            case UndoVerdict():
                return self._take_back(request_id)
            case RunGuardrails():
                self._runner.begin(again=body.again)
                said = "checking"
            case Cancel():
                said = "stopping; what is checked stays" if self._runner.cancel() else "nothing was running"
            case SaveDraft():
                self._save_draft(body, request_id)
                said = ""
        return Done(kind="done", request_id=request_id, said=said)

    def _find(self, body: FindTexts, request_id: str) -> FoundTexts:
        version = self._results.version
        wanted = TextFilter(show=body.show, verdict=body.verdict, guardrail=body.guardrail, search=body.search)
        positions, marks = self._results.find(wanted)
        letters = "".join(LETTERS[mark] for mark in marks)
        return FoundTexts(kind="found", request_id=request_id, results=version, positions=positions, marks=letters)

    def _decide(self, body: DecideText, request_id: str) -> Decided:
        position = self._here(body.position)
        if (body.verdict == "edit") is not (body.text is not None):
            raise ConfigError(field="decide", problems=["an edit needs its text, and nothing else takes one"])
        if body.verdict == "edit" and len(self._results.texts.values[position]) > LONGEST_TEXT:
            problem = f"the text is longer than the {LONGEST_TEXT} characters shown; edit it in code: review.decide(…)"
            raise ConfigError(field="decide", problems=[problem])
        seen = self._opened.pop(position, None)
        seconds = None if seen is None else max(0.0, (self._clock.now() - seen).total_seconds())
        self._give(position, GuardrailVerdict(verdict=body.verdict, text=body.text), body.note, seconds)
        if self._drafts.forget([str(position)]):
            self._push_drafts(None)
        left = self._results.left
        return Decided(kind="decided", request_id=request_id, said=f"{_DID[body.verdict]}, {left:,} left", position=position, left=left)

    def _take_back(self, request_id: str) -> Decided:
        key = self._undo()
        positions = [] if key is None else self._results.having(key)
        if key is None or not positions:
            raise ConfigError(field="undo", problems=["no verdict was given since this kernel started"])
        left = self._results.left
        return Decided(kind="decided", request_id=request_id, said=f"taken back, {left:,} left", position=positions[0], left=left)

    def _save_draft(self, body: SaveDraft, request_id: str) -> None:
        known = body.id.isascii() and body.id.isdecimal() and int(body.id) < len(self._results.texts)
        if not known:
            raise ConfigError(field="draft", problems=[f"there is no text {body.id!r}"])
        try:
            self._drafts.save(body.id, body.draft)
        except ValueError as error:
            raise ConfigError(field="draft", problems=[str(error)]) from error
        self._push_drafts(request_id)

    def _push_drafts(self, origin: str | None) -> None:
        self.tell(DraftsMessage(kind="drafts", origin=origin, drafts=self._drafts.all()))

    def _here(self, position: int) -> int:
        count = len(self._results.texts)
        if position >= count:
            raise ConfigError(field="position", problems=[f"there is no text {position}: there are {count}"])
        return position

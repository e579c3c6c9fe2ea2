"""Verdicts: by phase and text, in code and by a function, taken back, counted in the table (T2.1, T2.3, T2.4, T2.7)."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import GuardrailPhase, GuardrailReview, GuardrailVerdict
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.review import FrontEnd, TextRefusal, TextSession, register
from llm4s_notebook.testing import ManualClock

from .support import PROMISES, Fails, checked

EDIT = GuardrailVerdict.edit("we hope so")


async def test_a_verdict_keeps_what_was_shown_who_and_when() -> None:
    """T2.1: the question as a reviewing middleware puts it, the answer as it takes it."""
    clock = ManualClock()
    session = await checked(principal="rita", clock=clock)
    [first, *_] = session.refusals
    given = session.decide(first, EDIT, note="too much")
    assert given.review == GuardrailReview(GuardrailPhase.OUTPUT, "no promises", first.reason, "it is guaranteed")
    assert (given.verdict, given.mark, given.note, given.by, given.at) == (EDIT, "edit", "too much", "rita", clock.now())
    assert session.verdicts == {"it is guaranteed": given}
    assert session.refusals[0].verdict == given


async def test_equal_texts_share_a_verdict_and_a_new_one_takes_its_place() -> None:
    """T2.1: one decision for a text, wherever it stands."""
    session = await checked({"a": "guaranteed", "b": "fine", "c": "guaranteed"})
    session.decide("a", "allow")
    assert [refusal.verdict and refusal.verdict.mark for refusal in session.refusals] == ["allow", "allow"]
    session.decide("c", "block")
    assert session.left == 0
    assert session.table().total.numbers() == [2, 2, 0, 0, 0, 0, 0]


async def test_phases_have_verdicts_of_their_own() -> None:
    """T2.1, 6.2.4."""
    session = await checked(phase=GuardrailPhase.INPUT)
    assert session.decide(1, "allow").review.phase is GuardrailPhase.INPUT
    assert session.state().phase == "input"


@pytest.mark.parametrize(
    ("which", "verdict", "said"),
    [
        (9, "allow", "no text has the id 9"),
        ([1], "allow", r"no text has the id \[1\]"),
        ("twice", "allow", "several different texts have the id 'twice'"),
        ("fine", "allow", "passes every guardrail: there is nothing to decide"),
        (1, GuardrailVerdict.edit("  \n"), "blank"),
        (1, GuardrailVerdict.edit("\u200b"), "blank"),
        (1, GuardrailVerdict.edit("guaranteed"), "the edit changes nothing"),
        (1, GuardrailVerdict.edit("half \ud800"), "the text in its place has half a character"),
        (1, "edit", "a verdict is 'allow', 'block', or a GuardrailVerdict"),
        (1, None, "a verdict is"),
    ],
)
async def test_a_verdict_that_says_nothing_is_refused(which: Any, verdict: Any, said: str) -> None:
    """T2.1: nothing is kept."""
    session = await checked([("fine", "fine"), "guaranteed", ("twice", "guaranteed a"), ("twice", "guaranteed b")], PROMISES)
    with pytest.raises(ConfigError, match=said):
        session.decide(which, verdict)
    assert session.verdicts == {}


@pytest.mark.parametrize(("note", "said"), [(5, "the note is int, not a text"), ("\udc00", "the note has half a character")])
async def test_a_note_that_cannot_be_kept_is_refused(note: Any, said: str) -> None:
    """T2.1: nothing is kept."""
    session = await checked(["guaranteed"])
    with pytest.raises(ConfigError, match=said):
        session.decide(0, "block", note=note)
    assert session.verdicts == {}


async def test_a_refusal_of_other_texts_is_no_refusal_here() -> None:
    """T2.1: its place may hold another text."""
    other = await checked(["guaranteed elsewhere"])
    session = await checked(["guaranteed"])
    with pytest.raises(ConfigError, match="of another review"):
        session.decide(other.refusals[0], "allow")


async def test_before_a_run_there_is_nothing_to_decide() -> None:
    """T2.1: a person judges what a guardrail said."""
    with pytest.raises(ConfigError, match="not checked yet"):
        TextSession(["guaranteed"], [PROMISES]).decide(0, "block")


async def test_a_text_that_a_guardrail_failed_on_can_be_decided_and_needs_not_be() -> None:
    """T2.1: it is not among what is left."""
    session = await checked(["boom"], Fails())
    assert session.left == 0
    assert session.decide(0, "block").review.reason == "LookupError: no such model"


async def test_verdicts_are_taken_back_one_after_the_other() -> None:
    """T2.1: the last one first, and what stood before counts again."""
    session = await checked()
    session.decide(1, "allow")
    session.decide(2, "block")
    session.decide(1, EDIT)
    marks = []
    while session.undo() is not None:
        marks.append({text: given.mark for text, given in session.verdicts.items()})
    long = "guaranteed, and far too long for it"
    assert marks == [{"it is guaranteed": "allow", long: "block"}, {"it is guaranteed": "allow"}, {}]
    assert session.table().total.undecided == 3


async def test_the_table_counts_each_guardrail_and_each_text_once_in_the_total() -> None:
    """T2.3: a text that two refused is in both rows."""
    session = await checked()
    session.decide(1, "allow")
    session.decide(2, "block")
    rows = session.table().to_records()
    assert rows == [
        {"guardrail": "no promises", "refused": 2, "right": 1, "false alarms": 1, "edited": 0, "undecided": 0, "fixed": 0, "errors": 0},
        {"guardrail": "short", "refused": 2, "right": 1, "false alarms": 0, "edited": 0, "undecided": 1, "fixed": 0, "errors": 0},
        {"guardrail": "all texts", "refused": 3, "right": 1, "false alarms": 1, "edited": 0, "undecided": 1, "fixed": 0, "errors": 0},
    ]


async def test_the_table_as_text_and_html() -> None:
    """T2.3, W5.7: in columns; a guardrail's name is no markup."""
    from llm4s_notebook.guardrails import WordList

    table = (await checked(["a"], WordList(["a"], name="<b>bold</b>"))).table()
    lines = repr(table).splitlines()
    assert [line.split()[:2] for line in lines] == [["guardrail", "refused"], ["<b>bold</b>", "1"], ["all", "texts"]]
    assert len({len(line) for line in lines}) == 1
    html = table._repr_html_()
    assert "&lt;b&gt;bold&lt;/b&gt;" in html
    assert "<b>" not in html


# -- nobody there ----------------------------------------------------------------------------------------------------


class Room:
    """A place where a person is, or is not."""

    def __init__(self, somebody: bool, why_not: str | None = None) -> None:
        self.somebody, self.why_not = somebody, why_not

    def somebody_there(self) -> bool:
        return self.somebody

    def cannot_wait(self) -> str | None:
        return self.why_not

    def show(self, session: object) -> None:
        raise AssertionError("nothing is to be shown")


@pytest.fixture
def room(request: pytest.FixtureRequest) -> Any:
    def enter(*state: Any) -> None:
        front: FrontEnd = Room(*state)
        register(front)

    yield enter
    register(None)


def reviewer(refusal: TextRefusal) -> GuardrailVerdict | None:
    if refusal.guardrail == "short":
        return None
    return GuardrailVerdict.block() if "far" in refusal.text else GuardrailVerdict.allow()


async def test_with_nobody_there_the_function_decides(room: Any) -> None:
    """T2.7: a notebook run by a script; what it leaves open is said."""
    room(False)
    session = await checked()
    with pytest.raises(ConfigError, match="1 refused text waits for a verdict and nobody is there"):
        await session.reviewed(unattended=reviewer)
    assert [given.mark for given in session.verdicts.values()] == ["allow", "block"]

    async def rest(refusal: TextRefusal) -> str:
        return "block"

    await session.reviewed(unattended=rest)  # type: ignore[arg-type]  # a plain word is one too
    assert session.left == 0


async def test_with_nobody_there_and_no_function_it_raises_at_once(room: Any) -> None:
    """T2.7."""
    room(False)
    with pytest.raises(ConfigError, match="3 refused texts"):
        await (await checked()).reviewed()


@pytest.mark.parametrize("somebody", [True, False])
async def test_before_a_run_there_is_nothing_to_wait_for(room: Any, somebody: bool) -> None:
    """T2.7: a forgotten run does not look like texts that nobody refuses. Without texts there is nothing to run."""
    room(somebody)
    with pytest.raises(ConfigError, match=r"no text is checked yet.*await review\.run\(\)"):
        await TextSession(["guaranteed"], [PROMISES]).reviewed(unattended=reviewer)
    await TextSession([], [PROMISES]).reviewed()


async def test_who_decides_in_the_place_of_a_person_is_a_function(room: Any) -> None:
    """T2.7."""
    room(False)
    wrong: Any = "allow"
    with pytest.raises(ConfigError, match=r"a function is wanted .* not str"):
        await (await checked()).reviewed(unattended=wrong)


async def test_with_somebody_there_it_waits_for_them(room: Any) -> None:
    """T2.7: the function is not asked, and the last verdict ends the waiting."""
    import asyncio

    room(True)
    session = await checked(["guaranteed"])
    asked: list[Any] = []
    waiting = asyncio.ensure_future(session.reviewed(unattended=asked.append))
    await asyncio.sleep(0)
    session.decide(0, "block")
    await waiting
    assert asked == []


async def test_where_a_cell_cannot_wait_it_says_so(room: Any) -> None:
    """T2.7, W5.1: at once, and only where there is something to wait for."""
    room(True, "a cell cannot wait in a dream")
    session = await checked(["guaranteed"])
    with pytest.raises(ConfigError, match="a dream"):
        await session.reviewed()
    session.decide(0, "block")
    await session.reviewed()


async def test_a_function_is_asked_once_for_equal_texts() -> None:
    """T2.1: the first verdict holds for the second."""
    session = await checked(["guaranteed", "guaranteed", "guaranteed too"])
    asked: list[str] = []

    def ask(refusal: TextRefusal) -> GuardrailVerdict:
        asked.append(refusal.text)
        return GuardrailVerdict.block()

    assert await session.decide_each(ask) == 2
    assert asked == ["guaranteed", "guaranteed too"]

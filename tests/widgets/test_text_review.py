"""The text review against a front end in the process: what is sent, what is taken, and its twins without a front end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm4s_notebook import TextReview
from llm4s_notebook.agent import GuardrailVerdict
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.guardrails import LengthCheck, WordList
from llm4s_notebook.review import TextSession

from ..review.turns import until
from .front_end import FakeFrontEnd

PROMISES = WordList(["guaranteed"], name="no promises")
TEXTS = {"a": "fine", "b": "it is guaranteed", "c": "<script>alert(1)</script> guaranteed"}


async def reviewed(**settings: Any) -> TextReview:
    return await TextReview(TEXTS, [PROMISES], **settings).run()


async def test_the_document_is_sent_and_follows_runs_and_verdicts(front: FakeFrontEnd) -> None:
    """T1.3, T3.1: one trait, small, and nothing of the texts in it."""
    review = TextReview(TEXTS, [PROMISES])
    assert front.document(review)["checked"] == 0
    assert await review.run() is review
    assert (front.document(review)["checked"], front.document(review)["counts"]["refused"]) == (3, 2)
    review.decide("b", "allow")
    await until(lambda: front.document(review)["totals"]["allow"] == 1)
    assert "guaranteed" not in json.dumps(front.states[review.model_id]["state"])


async def test_requests_are_carried_out_and_answered(front: FakeFrontEnd) -> None:
    """W1.5: from the comm to the session and back."""
    review = await reviewed()
    request = front.ask(review, {"kind": "decide", "position": 1, "verdict": "edit", "text": "we hope", "note": "softer"})
    await until(lambda: front.reply(request) is not None)
    assert front.reply(request) == {"kind": "decided", "request_id": request, "said": "edited, 1 left", "position": 1, "left": 1}
    [given] = review.verdicts.values()
    assert (given.verdict, given.note) == (GuardrailVerdict.edit("we hope"), "softer")
    assert {"kind": "marks", "positions": [1], "mark": "edit"} in [message for _, message in front.messages]


async def test_the_browser_sets_no_document(front: FakeFrontEnd) -> None:
    """F25: a trait change from the page is not taken."""
    review = await reviewed()
    front.deliver(review, {"method": "update", "state": {"state": {"checked": 99}}})
    assert review.session.state().checked == 3
    assert review.state["checked"] == 3


async def test_other_guardrails_make_another_widget_that_shares_the_verdicts(front: FakeFrontEnd) -> None:
    """T2.2: both are drawn, and both follow."""
    review = await reviewed()
    tuned = await review.with_guardrails([LengthCheck(max=20)]).run()
    assert tuned.model_id != review.model_id
    review.decide("b", "block")
    await until(lambda: front.document(tuned)["counts"]["missed"] == 1)
    assert tuned.undo() is True
    assert (review.verdicts, tuned.undo()) == ({}, False)


async def test_code_does_all_that_the_page_does(front: FakeFrontEnd) -> None:
    """T2.1, T2.6, T2.7: verdicts, table, rows, waiting."""
    review = await reviewed()
    review.decide(review.refusals[0], "block")
    await review.reviewed(unattended=lambda refusal: GuardrailVerdict.allow())
    assert (review.left, review.table().total.numbers()[:3]) == (0, [2, 1, 1])
    assert [row["verdict"] for row in review.to_records()] == [None, "block", "allow"]
    assert review.cancel() is False
    assert len(review) == 3
    assert bool(TextReview([], [])) is True


async def test_a_session_is_drawn_as_it_is(front: FakeFrontEnd) -> None:
    """One review, two widgets."""
    session = TextSession(TEXTS, [PROMISES])
    first, second = TextReview(session), TextReview(session)
    await first.run()
    assert front.document(second)["checked"] == 3
    gone = first.model_id
    first.close()
    await session.run(again=True)
    assert front.closed == [gone]
    assert front.document(second)["counts"]["newly_refused"] == 0
    assert front.states[gone]["state"]["counts"]["newly_refused"] is None


@pytest.mark.parametrize("more", [{"guardrails": [WordList(["a"])]}, {"principal": "ana"}])
def test_a_session_is_given_alone(front: FakeFrontEnd, more: dict[str, Any]) -> None:
    """T2.2: other guardrails beside it would be passed over in silence."""
    with pytest.raises(ConfigError, match="give it alone"):
        TextReview(TextSession(["a"], [WordList(["b"])]), **more)


def test_what_is_no_text_is_refused_before_a_widget_is_there(front: FakeFrontEnd) -> None:
    """T1.1: nothing half made."""
    with pytest.raises(ConfigError, match="position 1 is int"):
        TextReview(["a", 2], [PROMISES])
    assert front.states == {}


async def test_the_twins_show_counts_table_and_the_first_refused_texts(front: FakeFrontEnd) -> None:
    """T3.4, W5.3: as text and as HTML; what others wrote is escaped."""
    review = await reviewed()
    review.decide("b", "allow")
    shown = review._repr_mimebundle_()
    assert shown is not None
    text, html = shown[0]["text/plain"], shown[0]["text/html"]
    assert text.splitlines()[0] == "Text review: output, 3 texts checked, 2 refused, 1 undecided"
    assert "[b] allow · no promises: inappropriate content: guaranteed\n  | it is guaranteed" in text
    assert "verdicts are in this kernel's memory only" in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; guaranteed" in html
    assert "<script" not in html
    assert repr(review) == "TextReview(output, 3 texts checked, 2 refused, 1 undecided)"


async def test_a_twin_of_many_long_texts_stays_short(front: FakeFrontEnd) -> None:
    """W5.3: twenty are listed, each in one line."""
    review = await TextReview(["guaranteed\n" + "x" * 100_000] * 3 + [f"guaranteed {n}" for n in range(500)], [PROMISES]).run()
    shown = review._repr_mimebundle_()
    assert shown is not None
    text = shown[0]["text/plain"]
    assert len(text) < 8000
    assert "… and 483 more refused texts" in text
    assert max(map(len, text.splitlines())) < 220


async def test_the_twin_says_what_other_guardrails_changed(front: FakeFrontEnd) -> None:
    """T2.2, W5.3: in words."""
    review = await reviewed()
    review.decide("b", "allow")
    review.decide("c", "block")
    tuned = await review.with_guardrails([LengthCheck(max=1000)]).run()
    shown = tuned._repr_mimebundle_()
    assert shown is not None
    said = "newly refused: 0 · newly passing: 2 · false alarms that pass now: 1 · blocked texts that pass now: 1"
    assert said in shown[0]["text/plain"].splitlines()
    assert said in shown[0]["text/html"]

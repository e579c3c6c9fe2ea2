"""Other guardrails over the same texts: what is newly refused, what newly passes, and the verdicts that stay (T2.2, T2.4)."""

from __future__ import annotations

from typing import Any

from llm4s_notebook.agent import GuardrailVerdict
from llm4s_notebook.guardrails import LengthCheck
from llm4s_notebook.review import TextChanges, TextSession

from .browser import Browser
from .support import PROMISES, Fails, checked

TEXTS = {"alarm": "guaranteed by law", "right": "guaranteed delivery", "edited": "guaranteed soon", "long": "x" * 30, "fine": "fine"}


async def tuned(*guardrails: Any) -> TextSession:
    """Three promises decided, then judged by other guardrails."""
    first = await checked(TEXTS, PROMISES)
    first.decide("alarm", "allow")
    first.decide("right", "block")
    first.decide("edited", GuardrailVerdict.edit("soon"))
    second = first.with_guardrails(guardrails)
    await second.run()
    return second


async def listed(session: TextSession, show: str, **more: Any) -> list[Any]:
    """The ids that a view lists."""
    found = await Browser(session).find(show, **more)
    return [list(TEXTS)[position] for position in found.positions]


async def test_what_is_newly_refused_and_what_newly_passes() -> None:
    """T2.2: against the review it came from."""
    session = await tuned(LengthCheck(max=20))
    counts = session.state().counts
    assert (counts.newly_refused, counts.newly_passing, counts.mended, counts.missed) == (1, 3, 1, 1)
    assert await listed(session, "newly_refused") == ["long"]
    assert await listed(session, "newly_passing") == ["alarm", "right", "edited"]
    assert await listed(session, "mended") == ["alarm"]
    assert await listed(session, "missed") == ["right"]
    assert session.changes == TextChanges(("long",), ("alarm", "right", "edited"), ("alarm",), ("right",))
    assert [row["before"] for row in session.to_records()] == ["refused", "refused", "refused", "passed", "passed"]


async def test_verdicts_stay_for_unchanged_texts_and_are_shared_both_ways() -> None:
    """T2.2, T2.1: nothing is decided twice."""
    first = await checked(TEXTS, PROMISES)
    first.decide("alarm", "allow")
    second = first.with_guardrails([PROMISES, LengthCheck(max=20)])
    await second.run()
    assert (second.left, second.table().total.numbers()) == (3, [4, 0, 1, 0, 3, 0, 0])
    second.decide("right", "block")
    assert first.table().total.block == 1
    assert first.undo() is not None
    assert second.table().total.block == 0


async def test_a_text_that_a_guardrail_fails_on_passes_nothing() -> None:
    """T2.2: an error is neither good news nor a regression."""
    first = await checked(["boom guaranteed"], PROMISES)
    first.decide(0, "block")
    second = first.with_guardrails([Fails()])
    await second.run()
    counts = second.state().counts
    assert (counts.newly_passing, counts.missed, counts.errors) == (0, 0, 1)


async def test_without_results_there_is_nothing_to_compare_with() -> None:
    """T2.2: no numbers rather than noughts."""
    fresh = TextSession(["guaranteed"], PROMISES).with_guardrails(LengthCheck(max=3))
    await fresh.run()
    assert (fresh.state().counts.newly_refused, fresh.state().counts.newly_passing) == (None, None)


async def test_what_passes_now_can_be_decided_anew() -> None:
    """T2.1: the verdict stays about what was shown when it was given."""
    session = await tuned(LengthCheck(max=1000))
    given = session.decide("right", "allow")
    assert given.review.guardrail == "no promises"
    assert session.state().counts.missed == 0


async def test_lists_are_narrowed_by_verdict_guardrail_and_words() -> None:
    """T2.4: also what passes now is found under the guardrail that refused it before."""
    session = await tuned(PROMISES, LengthCheck(max=18))
    assert await listed(session, "refused") == ["alarm", "right", "edited", "long"]
    assert await listed(session, "refused", verdict="undecided") == ["long"]
    assert await listed(session, "refused", verdict="block") == ["right"]
    assert await listed(session, "refused", guardrail="LengthCheck") == ["right", "long"]
    assert await listed(session, "all", search="GUARANTEED S") == ["edited"]
    assert await listed(session, "all", search="alar") == ["alarm"]
    assert await listed(session, "refused", search="too long") == ["right", "long"]
    assert await listed(session, "all", search="[") == []
    assert await listed(await tuned(), "newly_passing", guardrail="no promises") == ["alarm", "right", "edited"]

"""Guardrails over many texts: what each does to a text, side by side, stopped and continued (T1.2 to T1.4)."""

from __future__ import annotations

import asyncio
import threading

import pytest

from llm4s_notebook.errors import Refused
from llm4s_notebook.guardrails import Guardrail, PiiMasker, WordList
from llm4s_notebook.review import TextSession

from ..turns import until
from .support import PROMISES, SHORT, Fails, Gate, Upper, checked, ids


async def test_every_guardrail_runs_and_the_first_that_refuses_is_named() -> None:
    """T1.2, 6.1.2: all reasons, in order."""
    session = await checked()
    assert ids(session) == [1, 2, 3]
    both = session.refusals[1]
    assert both.guardrail == "no promises"
    assert [failure.guardrail for failure in both.failures] == ["no promises", "short"]
    assert both.reason == "; ".join(failure.reason for failure in both.failures)


async def test_each_sees_what_the_one_before_made_of_the_text() -> None:
    """T1.2: a fixed text is what the next one checks; the person decides about the text as it was given."""
    session = await checked(["guaranteed", "fine"], Upper(), WordList(["FINE"]))
    assert [refusal.text for refusal in session.refusals] == ["fine"]
    assert session.to_records()[0]["passed_on"] == "GUARANTEED"
    assert session.table().rows["upper"].fixed == 2


async def test_a_masker_is_shown_as_fixing_and_refuses_nothing() -> None:
    """T1.2: Fix and masks."""
    session = await checked(["mail me: rita@example.org", "none here"], PiiMasker())
    assert session.refusals == []
    assert (session.table().total.fixed, session.state().counts.fixed) == (1, 1)
    assert "rita" not in session.to_records()[0]["passed_on"]


async def test_a_guardrail_that_raises_has_failed_on_that_text_and_the_run_goes_on() -> None:
    """T1.2, 6.1.7: an error is no refusal and no pass; a refusal beside it still is one."""
    session = await checked(["fine", "boom", "boom guaranteed"], Fails(), PROMISES)
    assert [row["outcome"] for row in session.to_records()] == ["passed", "error", "refused"]
    assert session.to_records()[1]["reason"] == "LookupError: no such model"
    assert (session.table().rows["fails"].errors, session.table().total.errors, session.left) == (2, 2, 1)


async def test_guardrails_of_one_name_are_told_apart() -> None:
    """T1.2: the table has a row for each."""
    session = await checked(["a"], WordList(["a"]), WordList(["b"]), WordList(["a"]))
    assert list(session.table().rows) == ["WordList", "WordList (2)", "WordList (3)"]
    assert [counts.refused for counts in session.table().rows.values()] == [1, 0, 1]


async def test_so_many_texts_as_asked_for_are_checked_at_once() -> None:
    """T1.3: the bound holds, and every text is checked exactly once, in order of beginning."""
    gate = Gate()
    session = TextSession([f"text {n}" for n in range(20)], gate, concurrency=3)
    run = asyncio.ensure_future(session.run())
    await until(lambda: gate.waiting == 3)
    gate.open.set()
    await run
    assert gate.most == 3
    assert gate.seen == [f"text {n}" for n in range(20)]


async def test_a_plain_guardrail_leaves_the_loop_free() -> None:
    """T1.3, D24: it waits in a worker thread until the loop, which is free, lets it go."""
    loop_came, here = threading.Event(), threading.get_ident()
    threads: set[int] = set()

    class Plain:
        name = "plain"

        def check(self, text: str) -> str:
            threads.add(threading.get_ident())
            assert loop_came.wait(20)
            return text

    run = asyncio.ensure_future(TextSession(["a", "b"], Plain()).run())
    await until(lambda: len(threads) == 2)
    loop_came.set()
    await run
    assert here not in threads


async def test_progress_is_told_while_it_runs() -> None:
    """T1.3: checked, refused so far, running; then the end."""
    gate = Gate()
    session = TextSession(["bad 1", "good", "bad 2", "good too"], [PROMISES, gate], concurrency=1)
    seen: list[tuple[int, int, bool]] = []
    session.observe(lambda state: seen.append((state.checked, state.counts.refused, state.running)))
    run = asyncio.ensure_future(session.run())
    await until(lambda: gate.waiting == 1)
    assert session.running
    assert seen[-1] == (0, 0, True)
    gate.open.set()
    await run
    assert seen[-1] == (4, 2, False)
    assert session.state().per_second is not None


async def test_cancelling_keeps_what_is_checked_and_a_run_goes_on_with_the_rest() -> None:
    """T1.4: nothing that was checked is checked again."""
    gate = Gate(passing=1)
    session = TextSession(["fine", "good", "bad"], [PROMISES, gate], concurrency=1)
    run = asyncio.ensure_future(session.run())
    await until(lambda: gate.waiting == 1)
    assert session.cancel() is True
    assert session.state().cancelling
    await run
    assert (session.running, session.state().checked, session.cancel()) == (False, 1, False)
    gate.open.set()
    await session.run()
    assert gate.seen == ["fine", "good", "good", "bad"]
    assert (session.state().checked, ids(session)) == (3, [2])


async def test_cancelling_the_caller_cancels_its_run() -> None:
    """T1.4, D2: an interrupted cell; no check is left behind."""
    gate = Gate()
    session = TextSession(["a", "b"], gate)
    run = asyncio.ensure_future(session.run())
    await until(lambda: gate.waiting == 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError) as ended:
        await run
    assert ended.value.__notes__ == ["the check was stopped, and what is checked is kept · run() goes on with the rest"]
    assert (session.running, gate.waiting, session.state().checked) == (False, 0, 0)


async def test_a_second_run_joins_and_its_caller_cancels_nothing() -> None:
    """T1.3: one run at a time."""
    gate = Gate()
    session = TextSession(["a", "b"], gate)
    first = asyncio.ensure_future(session.run())
    second = asyncio.ensure_future(session.run())
    third = asyncio.ensure_future(session.run())
    await until(lambda: gate.waiting == 2)
    third.cancel()
    gate.open.set()
    await asyncio.gather(first, second)
    assert third.cancelled()
    assert gate.seen == ["a", "b"]


async def test_again_checks_everything_anew_and_compares() -> None:
    """T1.4, T2.2: a judge that changes its mind."""
    moody = Moody()
    session = await checked(["a", "b"], moody)
    assert ids(session) == []
    moody.words.append("b")
    await session.run()
    assert ids(session) == []  # everything is checked already
    await session.run(again=True)
    assert ids(session) == [1]
    assert session.state().counts.newly_refused == 1


class Moody:
    """Refuses the words it has at the time."""

    name = "moody"

    def __init__(self) -> None:
        self.words: list[str] = []

    async def check(self, text: str) -> str:
        if text in self.words:
            raise Refused("today it is refused")
        return text


def test_a_review_is_used_from_one_loop_after_the_other() -> None:
    """D23: a script with several `asyncio.run`, deciding in between without any loop."""
    guardrails: list[Guardrail] = [PROMISES, SHORT]
    session = TextSession(["guaranteed", "fine"], guardrails)
    asyncio.run(session.run())
    session.decide(0, "block")
    asyncio.run(session.run(again=True))
    assert session.table().total.block == 1


async def test_a_run_on_another_thread_is_called_from_here() -> None:
    """D23: the guardrails run on the loop that the review was made on."""
    session = TextSession(["guaranteed"], [PROMISES])
    await asyncio.to_thread(lambda: asyncio.run(session.run()))
    assert ids(session) == [0]

from __future__ import annotations

import asyncio
import threading

import pytest

from llm4s_notebook.errors import ConfigError, GuardrailBlocked
from llm4s_notebook.guardrails import Failure, Judgement, LengthCheck, Refused, all_of, any_of, as_guardrails, check, judge, sequence


class Shout:
    """Changes the text, in a worker thread."""

    name = "shout"

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None

    def check(self, text: str) -> str:
        self.thread = threading.current_thread()
        return text.upper()


class No:
    """Refuses everything."""

    def __init__(self, name: str = "no") -> None:
        self.name = name
        self.asked: list[str] = []

    async def check(self, text: str) -> str:
        self.asked.append(text)
        raise Refused(f"{self.name} says no")


async def test_all_guardrails_run_and_a_failing_one_leaves_the_text_as_it_was():
    """6.1.2, 6.1.3."""
    first, last = No("first"), No("last")
    assert await judge([first, Shout(), last], "hi") == Judgement(
        "HI", (Failure("first", "first says no"), Failure("last", "last says no"))
    )
    assert (first.asked, last.asked) == (["hi"], ["HI"])
    assert (await judge([first, last], "hi")).reason == "first says no; last says no"


async def test_a_plain_check_runs_in_a_worker_thread():
    """D24."""
    shout = Shout()
    assert await check(shout, "hi") == "HI"
    assert shout.thread is not threading.main_thread()


async def test_a_cancelled_check_waits_for_its_thread_and_drops_the_result():
    """D24."""
    entered, leave, left = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        name = "slow"

        def check(self, text: str) -> str:
            entered.set()
            leave.wait(30)
            left.set()
            return text

    task = asyncio.create_task(check(Slow(), "hi"))
    await asyncio.to_thread(entered.wait, 30)
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    leave.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert left.is_set()


async def test_a_fault_of_a_guardrail_is_no_verdict():
    """6.1.7."""

    class Broken:
        name = "broken"

        async def check(self, text: str) -> str:
            raise ZeroDivisionError

    class Silent:
        name = "silent"

        async def check(self, text: str) -> str:
            return None  # type: ignore[return-value]  # the mistake under test

    with pytest.raises(ZeroDivisionError):
        await judge([Broken()], "hi")
    with pytest.raises(TypeError, match="guardrail 'silent' returned NoneType"):
        await judge([Silent()], "hi")


async def test_all_of_collects_any_of_takes_the_first_and_a_sequence_stops():
    """6.3."""
    after = No("after")
    with pytest.raises(Refused, match="a says no; b says no"):
        await check(all_of("both", No("a"), No("b")), "hi")
    assert await check(all_of("both", Shout(), LengthCheck(1)), "hi") == "HI"
    assert await check(any_of("either", No("a"), Shout(), after), "hi") == "HI"
    with pytest.raises(Refused, match="a says no; b says no"):
        await check(any_of("either", No("a"), No("b")), "hi")
    with pytest.raises(Refused, match=r"^a says no"):
        await check(sequence("chain", Shout(), No("a"), after), "hi")
    assert after.asked == []


def test_a_composite_of_nothing_is_refused():
    """It could only pass everything, unseen."""
    with pytest.raises(ConfigError, match="at least one part"):
        all_of("empty")


def test_what_is_no_guardrail_is_refused_in_a_list_and_in_a_composite():
    """6.1.1: at once, and not when the first text comes."""
    for make in (lambda: as_guardrails(["no guardrail", No()]), lambda: all_of("both", No(), "no guardrail")):  # type: ignore[arg-type, list-item]
        with pytest.raises(ConfigError, match="'no guardrail' is no guardrail: it needs a name and a check"):
            make()
    assert [one.name for one in as_guardrails(No())] == ["no"]


async def test_a_guardrail_that_raises_the_block_itself_refuses_like_any_other():
    """6.1.2, 6.2.1: those after it still run, and a reviewer can be asked."""

    class Blocks:
        name = "blocks"

        async def check(self, text: str) -> str:
            raise GuardrailBlocked(guardrail="somebody else", reason="told so")

    last = No("last")
    judgement = await judge([Blocks(), last], "hi")
    assert judgement.failures == (Failure("blocks", "told so"), Failure("last", "last says no"))
    with pytest.raises(Refused, match="told so"):
        await check(any_of("either", Blocks(), Blocks()), "hi")


async def test_half_a_character_in_a_reason_or_a_name_can_be_shown_and_stored():
    """6.1.3: it is written out."""

    class Odd:
        name = "odd \ud800"

        async def check(self, text: str) -> str:
            raise Refused("why \udfff")

    assert (await judge([Odd()], "hi")).failures == (Failure("odd \\ud800", "why \\udfff"),)
    error = ValueError("as it came")
    assert Refused(error).reason == "as it came"  # type: ignore[arg-type]


async def test_a_guardrail_that_makes_a_text_which_cannot_be_stored_is_at_fault():
    """6.1.7: and one that lets such a text through is not."""

    class Halves:
        name = "halves"

        async def check(self, text: str) -> str:
            return text + "\ud800"

    with pytest.raises(ValueError, match="guardrail 'halves' returned a text with half a character"):
        await judge([Halves()], "hi")
    assert (await judge([LengthCheck(1)], "hi \ud800")).text == "hi \ud800"

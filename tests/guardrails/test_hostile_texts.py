"""Texts that are made to hang or to crash a check: large, odd, or both. Work is counted, never timed."""

from __future__ import annotations

import gc
import re
import re._constants as constants
import re._parser as parser
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

import phonenumbers
import pytest

from llm4s_notebook.guardrails import JsonValidator, LengthCheck, PiiMasker, PromptInjectionDetector, Refused, WordList
from llm4s_notebook.guardrails import _injection as injection
from llm4s_notebook.guardrails._pii import _card, _email, _iban, _ip, _phone
from llm4s_notebook.guardrails._pii._finder import Finder
from llm4s_notebook.guardrails._pii._national_id import _NUMBERS
from llm4s_notebook.guardrails._pii._recognizer import Shaped

SIZE = 100_000
PATTERNS: dict[str, Callable[[int], str]] = {
    name: (lambda size, piece=piece: (piece * (size // len(piece) + 1))[:size])
    for name, piece in {
        "digits": "1",
        "pairs": "12 ",
        "single digits": "1 ",
        "mixed groups": "212 12 12 12 ",
        "zeros": "030 12 ",
        "pluses": "+1 2 3 4 5 6 7 8 ",
        "phones in a chain": "+4930901820",
        "cards": "4111 1111 1111 1111 ",
        "ats": "@",
        "names and ats": "a@",
        "letters": "a",
        "labels": "a.",
        "hexadecimal": "a1",
        "colons": "a:1:",
        "accounts": "DE89 ",
        "brackets": "(",
        "dashes": "1-",
        "no width": "\u200b",
        "direction marks": "\u202e1\u200f",
        "lone surrogates": "\ud800",
        "accents": "a\u0301\u0336",
        "placeholders": "[REDACTED_EMAIL",
        "ignore": "ignore ",
        "ignore and others": "ignore a b c d ",
        "base64": "QUJD",
        "percent": "%41%",
        "marks": "\n### system",
        "hidden": "\U000e0041",
    }.items()
}


@pytest.fixture(scope="module")
def finder() -> Finder:
    return PiiMasker()._finder


@pytest.fixture(scope="module")
def travelled() -> Finder:
    return PiiMasker(regions=("US", "DE", "ES"))._finder


@pytest.mark.parametrize("name", PATTERNS)
async def test_a_large_odd_text_is_read_to_its_end(name: str, finder: Finder):
    """6.3: and what was masked has nothing left to find."""
    text = PATTERNS[name](SIZE)
    masked = finder.mask(text)
    assert finder.find(masked[: SIZE // 10].rpartition(" ")[0]) == ()
    assert isinstance(PromptInjectionDetector().find(text), tuple)
    assert await LengthCheck(max=SIZE).check(text) == text
    assert await WordList(["damn"]).check(text) == text
    with pytest.raises(Refused, match="not valid JSON") if name != "digits" else nullcontext():
        await JsonValidator().check(text)


@pytest.mark.parametrize("text", ["[" * SIZE, '{"a":' * SIZE, "[" * SIZE + "]" * SIZE])
async def test_json_that_is_nested_too_deeply_is_refused_like_any_other(text: str):
    """6.1.7: a text is no fault of the guardrail."""
    with pytest.raises(Refused, match="not valid JSON: it is nested too deeply"):
        await JsonValidator().check(text)


def _calls(work: Callable[[], object]) -> int:
    """How many functions the work calls, Python's own included."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # what other tests left is not collected meanwhile: its finalizers would count
    sys.setprofile(called)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.mark.parametrize("name", PATTERNS)
def test_four_times_the_text_is_four_times_the_work(name: str, travelled: Finder):
    """6.3: counted in calls."""
    small, large = (PATTERNS[name](size) for size in (1_000, 4_000))
    travelled.mask(small)  # whatever is loaded at first use
    assert _calls(lambda: travelled.mask(large)) <= 5 * _calls(lambda: travelled.mask(small)) + 1_000
    detector = PromptInjectionDetector()
    assert _calls(lambda: detector.find(large)) <= 5 * _calls(lambda: detector.find(small)) + 1_000


def test_the_library_is_asked_a_bounded_number_of_times_for_each_group_of_digits(monkeypatch: pytest.MonkeyPatch):
    """6.3: at most once for each number of groups, and region."""
    asked = 0
    parse = phonenumbers.parse

    def counted(*args: Any) -> Any:
        nonlocal asked
        asked += 1
        return parse(*args)

    monkeypatch.setattr(phonenumbers, "parse", counted)
    text = "2125 5501 23 " * 200
    assert [*_phone.Phone(("US", "DE", "ES")).find(text)] == []
    assert 0 < asked <= 600 * _phone._MAX_GROUPS * 3


def _patterns() -> Iterator[tuple[str, str]]:
    for number in _NUMBERS:
        yield f"{number.region} {number.module}", number.shape
    for module in (_card, _email, _iban, _ip, _phone, injection):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{module.__name__} {name}", value.pattern
    for recognizer in (*_card.cards(), *_ip.ip_addresses()):
        assert isinstance(recognizer, Shaped)
        yield repr(recognizer.kinds), recognizer._pattern.pattern
    detector = PromptInjectionDetector()
    for name, pattern in {**detector._words, "marks": detector._marks}.items():
        yield name, pattern.pattern


def _repeats(parsed: Any, without_end: bool) -> Iterator[str]:
    """What makes a pattern slow on some text: a repeat without end inside another one."""
    for operation, argument in parsed:
        if operation in (constants.MAX_REPEAT, constants.MIN_REPEAT):
            _, most, inner = argument
            endless = most == constants.MAXREPEAT
            if endless and without_end:
                yield str(inner)
            yield from _repeats(inner, without_end or endless)
        elif operation is constants.SUBPATTERN:
            yield from _repeats(argument[3], without_end)
        elif operation is constants.BRANCH:
            for branch in argument[1]:
                yield from _repeats(branch, without_end)
        elif operation in (constants.ASSERT, constants.ASSERT_NOT):
            yield from _repeats(argument[1], without_end)


@pytest.mark.parametrize(("name", "pattern"), [*_patterns()])
def test_no_pattern_repeats_a_repeat_without_end(name: str, pattern: str):
    """6.3: such a pattern can take a time that doubles with every character."""
    assert [*_repeats(parser.parse(pattern), without_end=False)] == []


def test_the_test_above_can_fail():
    """A pattern known to be slow is seen."""
    assert [*_repeats(parser.parse("(?:a+b?)+c"), without_end=False)]

from __future__ import annotations

import re
from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.guardrails import JsonValidator, LengthCheck, Refused, RegexValidator, WordList


@pytest.mark.parametrize("text", ["abc", "äöü", "a👍b", "abcde"])
async def test_a_text_within_bounds_passes_unchanged(text: str):
    """6.3: characters are code points."""
    assert await LengthCheck(3, 5).check(text) == text


@pytest.mark.parametrize(("text", "start"), [("ab", "Input too short"), ("abcdef", "Input too long"), ("", "Input too short")])
async def test_a_text_outside_the_bounds_is_refused(text: str, start: str):
    """6.3."""
    with pytest.raises(Refused, match=start):
        await LengthCheck(3, 5).check(text)


async def test_a_missing_bound_is_none():
    """6.3."""
    assert await LengthCheck().check("") == ""
    assert await LengthCheck(max=1).check("") == ""


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: LengthCheck(-1), "must not be negative"),
        (lambda: LengthCheck(5, 3), "min 5 is above max 3"),
        (lambda: LengthCheck("3"), "min is a number of characters or None, not '3'"),  # type: ignore[arg-type]
        (lambda: LengthCheck(max=True), "max is a number of characters or None"),
        (lambda: LengthCheck(max=2.5), "max is a number of characters or None"),  # type: ignore[arg-type]
        (lambda: RegexValidator("("), "pattern"),
        (lambda: RegexValidator(b"a"), "pattern"),  # type: ignore[arg-type]
        (lambda: RegexValidator(5), "pattern"),  # type: ignore[arg-type]
        (lambda: RegexValidator("a", must="maybe"), "must is"),
        (lambda: WordList([]), "at least one word"),
        (lambda: WordList(["a", " "]), "none may be blank"),
        (lambda: WordList(["\u200b\u00ad"]), "none may be blank"),
        (lambda: WordList(["a", 5]), "5 is no word"),  # type: ignore[list-item]
    ],
)
def test_bad_settings_are_refused_at_once(make: Any, problem: str):
    """A guardrail that cannot work is not built."""
    with pytest.raises(ConfigError, match=problem):
        make()


async def test_a_pattern_must_be_found_or_must_not():
    """6.3."""
    assert await RegexValidator(r"^\d+$").check("123") == "123"
    with pytest.raises(Refused, match="does not match the pattern"):
        await RegexValidator(r"^\d+$").check("12a")
    with pytest.raises(Refused, match="matches the pattern secret"):
        await RegexValidator("secret", must="not match").check("a secret")
    with pytest.raises(Refused, match=re.escape("numbers only")):
        await RegexValidator(r"^\d+$", message="numbers only").check("x")


@pytest.mark.parametrize("text", ["damned", "DAMN it", "what the damn?", "c++ is it"])
async def test_listed_words_are_refused_as_whole_words_in_any_case(text: str):
    """6.3: and none is found inside a longer word."""
    words = WordList(["damn", "c++"])
    if text == "damned":
        assert await words.check(text) == text
        return
    with pytest.raises(Refused, match="inappropriate content"):
        await words.check(text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("stra\u00dfe", "STRASSE"),
        ("strasse", "Stra\u00dfe"),
        ("\u03c3\u03b1\u03c2", "\u03a3\u0391\u03a3"),  # the Greek s has two small forms
        ("\u0130zmir", "izmir and IZMIR"),  # the dotted capital
        ("\ufb01sh", "FISH"),  # a ligature
        ("fish", "\uff46\uff49\uff53\uff48"),  # full width
        ("caf\u00e9", "cafe\u0301!"),  # the accent behind its letter
        ("cafe\u0301", "CAF\u00c9"),
        ("fish", "f\u200bi\u00ads\u2060h"),  # nothing that is seen
        ("fi\ufe0fsh", "fish"),
        ("fish", "f\u0456sh"),  # a letter of another script that looks the same
        ("two words", "two\u00a0 \nWORDS"),
        ("e-mail", "e\u2011mail"),
        ("fish", "fish\u2122"),  # a sign that is no letter of the word
    ],
)
async def test_a_listed_word_is_found_however_it_is_written(word: str, text: str):
    """6.3, 6.3.6: and the refusal names it as it was listed."""
    with pytest.raises(Refused) as refused:
        await WordList(["other", word]).check(f"well, {text}")
    assert refused.value.reason == f"inappropriate content: {word.lower()}"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("bad", "b\u00e4d"),  # another letter, whichever way it is composed
        ("bad", "ba\u0308d"),
        ("\u0915\u0932", "\u0915\u0941\u0932"),  # a vowel sign makes another word of it
        ("cop", "\u0441\u043e\u0440"),  # a word in another script, whose letters are drawn alike
        ("fish", "fishes, catfish, fish_1, fish\u00b2"),
        ("two words", "twowords"),
    ],
)
async def test_another_word_is_not_taken_for_a_listed_one(word: str, text: str):
    """6.3."""
    assert await WordList([word]).check(text) == text


@pytest.mark.parametrize("text", ['{"a": 1}', "null", "[]", '"x"', "9" * 10_000, "-0.5e400", '"\ud800"'])
async def test_json_passes(text: str):
    """6.3."""
    assert await JsonValidator().check(text) == text


@pytest.mark.parametrize("text", ["", "not json", "{'a': 1}", "NaN", '{"a": 1} x'])
async def test_what_is_not_one_json_document_is_refused(text: str):
    """6.3."""
    with pytest.raises(Refused, match="not valid JSON"):
        await JsonValidator().check(text)

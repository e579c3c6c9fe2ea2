from __future__ import annotations

import pytest

from llm4s_notebook.guardrails._fold import COVERED, fold, latin


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain text, 1-2", "plain text, 1-2"),
        ("j\u200boe\u2060@\ufeffx\u00ad.de", "joe@x.de"),  # no width
        ("\u202e123\u202c", "123"),  # direction marks
        ("\uff14\uff11\uff11\uff11", "4111"),  # full width
        ("\u0664\u0661\u0967\u06f1", "4111"),  # other scripts' digits
        ("\U0001d422gnore", "ignore"),  # mathematical letters
        ("a\u2013b\u2014c\u2212d", "a-b-c-d"),  # dashes
        ("a\u00a0b\u3000c\u2028d", "a b c\nd"),  # spaces, and a line separator
        ("e\u0301e\u0336", "ee"),  # accents of their own
        ("\u00e9\u4e2d\ud800", "\u00e9\u4e2d\ud800"),  # letters stay, and half a character is no fault of this
        ("", ""),
    ],
)
def test_a_text_is_read_as_it_is_seen(text: str, seen: str):
    """6.3."""
    assert fold(text).text == seen


def test_each_character_knows_where_it_stands_in_code_points():
    """6.3: an accent goes with its letter, what has no width goes with nothing."""
    folded = fold("\U0001f44da\u200b\u200bb\u0301c")
    assert folded.text == "\U0001f44dabc"
    assert [folded.origin(at, at + 1) for at in range(4)] == [(0, 1), (1, 2), (4, 6), (6, 7)]
    assert folded.origin(1, 4) == (1, 7)


def test_a_covered_stretch_is_one_character_whatever_its_length():
    """6.3: so a text and its masked form look the same to a pattern."""
    one, other = fold("ab[long]cd", [(2, 8)]), fold("ab#cd", [(2, 3)])
    assert one.text == other.text == f"ab{COVERED}cd"
    assert one.origin(2, 3) == (2, 8)
    assert fold("xy", [(0, 1), (1, 2)]).text == COVERED * 2


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", "plain"),
        ("p\u0430ypal \u0421at", "paypal Cat"),
        ("\u03bfne, tw\u03bf", "one, two"),
        (
            "\u043c\u043e\u0441\u043a\u0432\u0430 \u0441\u043e\u0440",
            "\u043c\u043e\u0441\u043a\u0432\u0430 \u0441\u043e\u0440",
        ),  # no Latin letter
        ("x\u0436\u0430", "x\u0436\u0430"),  # a letter that is like none
        ("caf\u00e9", "caf\u00e9"),
    ],
)
def test_letters_drawn_alike_are_read_as_latin_in_words_that_mix_them(text: str, read: str):
    """6.3.6."""
    assert latin(text) == read

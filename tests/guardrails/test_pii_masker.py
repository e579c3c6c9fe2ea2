"""What stands in the place of personal data, and that nothing of it is left (6.3)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm4s_notebook.guardrails import PiiDetector, PiiMasker, PiiSpan
from llm4s_notebook.guardrails._pii._finder import Finder


async def test_the_masker_never_refuses_and_keeps_the_kind():
    """6.3."""
    masker = PiiMasker()
    text = "joe@x.com paid DE89370400440532013000 with 4111 1111 1111 1111 from 10.0.0.1, SSN 123-45-6789, call +4930901820"
    masked = await masker.check(text)
    assert masked == (
        "[REDACTED_EMAIL] paid [REDACTED_IBAN] with [REDACTED_CREDIT_CARD] from [REDACTED_IP], SSN [REDACTED_SSN], call [REDACTED_PHONE]"
    )
    assert await masker.check(masked) == masked
    assert await masker.check("") == ""


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("4111111111111111+4930901820+4930901821", "[REDACTED_CREDIT_CARD][REDACTED_PHONE][REDACTED_PHONE]"),
        ("192.168.1.1@example.com", "[REDACTED_EMAIL]"),
        ("a@b@c.com", "a@[REDACTED_EMAIL]"),
        ("[REDACTED_EMAIL] joe@x.com", "[REDACTED_EMAIL] [REDACTED_EMAIL]"),
        ("[REDACTED_joe@x.com]", "[[REDACTED_EMAIL]]"),
        ("[REDACTED_4111111111111111]", "[REDACTED_[REDACTED_CREDIT_CARD]]"),
        ("'joe@x.com'", "'[REDACTED_EMAIL]'"),
        ("e\u0301joe@x.com\u0301!", "[REDACTED_EMAIL]!"),
        ("\ud800joe@x.com\udfff", "\ud800[REDACTED_EMAIL]\udfff"),
        ("212 555 0123x45", "[REDACTED_PHONE]x45"),
    ],
)
async def test_finds_beside_and_inside_one_another_are_covered_whole(text: str, masked: str):
    """6.3: what looks like a placeholder hides nothing."""
    assert await PiiMasker().check(text) == masked


class Found:
    """Finds given texts, wherever they stand."""

    def __init__(self, **texts: str) -> None:
        self.kinds = tuple(texts)
        self._texts = texts

    def find(self, text: str) -> Iterable[PiiSpan]:
        for kind, wanted in self._texts.items():
            start = text.find(wanted)
            if start >= 0:
                yield PiiSpan(start, start + len(wanted), kind)


@pytest.mark.parametrize(
    ("texts", "masked"),
    [
        ({"one": "bcd", "two": "def"}, "a[REDACTED_ONE]g"),  # overlap: one cover, nothing of either is left; a tie goes to the first
        ({"one": "bc", "two": "bcde"}, "a[REDACTED_TWO]fg"),  # inside: the longest names it
        ({"one": "bcdef", "two": "cd"}, "a[REDACTED_ONE]g"),
        ({"one": "bc", "two": "de"}, "a[REDACTED_ONE][REDACTED_TWO]fg"),  # side by side
        ({"one": "ab", "two": "bc", "three": "cdefg"}, "[REDACTED_THREE]"),  # a chain
    ],
)
async def test_overlapping_finds_become_one(texts: dict[str, str], masked: str):
    """6.3: of the longest one's kind."""
    masker = PiiMasker(kinds=(), recognizers=Found(**texts))
    assert await masker.check("abcdefg") == masked
    assert await masker.check(masked) == masked


async def test_what_a_find_hid_is_found_once_it_is_covered():
    """6.3: masking again would find it otherwise."""

    class Behind:
        """Finds a letter behind a covered stretch, and so one more each time."""

        kinds = ("letter",)

        def find(self, text: str) -> Iterable[PiiSpan]:
            for at in range(1, len(text)):
                if text[at - 1] == "\ufffc" and text[at] == "x":
                    yield PiiSpan(at, at + 1, "letter")

    masker = PiiMasker(kinds="ip", recognizers=Behind())
    assert await masker.check("10.0.0.1xx") == "10.0.0.1xx"
    assert await masker.check("(10.0.0.1)x") == "([REDACTED_IP])x"
    both = PiiMasker(kinds=(), recognizers=[Found(start="start"), Behind()])
    assert await both.check("startxxx.") == "[REDACTED_START][REDACTED_LETTER][REDACTED_LETTER][REDACTED_LETTER]."


@pytest.mark.parametrize("span", [PiiSpan(0, 0, "own"), PiiSpan(-1, 2, "own"), PiiSpan(1, 99, "own"), PiiSpan(0, 1, "other")])
async def test_a_recognizer_that_finds_what_is_not_there_is_at_fault(span: PiiSpan):
    """6.1.7: no text passes because of it."""

    class Odd:
        kinds = ("own",)

        def find(self, text: str) -> list[PiiSpan]:
            return [span]

    with pytest.raises(ValueError, match="no stretch of the text"):
        await PiiDetector(recognizers=Odd()).check("text")


REGIONS = ("US", "DE", "FR", "ES", "GB", "JP", "BR", "RU", "DK", "NL", "PL")
PIECES = [
    *(
        "joe@x.com",
        "4111111111111111",
        "4111 1111 1111 1111",
        "+4930901820",
        "212 555 0123",
        "(212) 555-0123",
        "2125550123",
        "call ",
        ", ",
        "192.168.1.1",
        "2001:db8::1",
    ),
    *("DE89370400440532013000", "DE89 3704 0044 0532 0130 00", "123-45-6789", "12345678Z", "030 901820", "01 23 45 67 89", "2024-01-15"),
    *(
        "1",
        "12",
        "+",
        "(",
        ")",
        " ",
        "-",
        ".",
        "/",
        "@",
        ":",
        "x",
        "a",
        "e",
        "\u200b",
        "\u0301",
        "\ufffc",
        "\ud800",
        "\n",
        "00",
        "011 49 30",
    ),
    *("[REDACTED_EMAIL]", "[REDACTED_", "]", "612 34 56 78", "44051401359"),
]


class Counting(Finder):
    """Counts how often it looks."""

    looks = 0

    def _look(self, *args: Any) -> Any:
        self.looks += 1
        return super()._look(*args)


@pytest.fixture(scope="module")
def finder() -> Finder:
    return PiiMasker(regions=REGIONS)._finder


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=14))
def test_masking_twice_is_masking_once_and_leaves_nothing_to_find(finder: Finder, pieces: list[str]):
    """6.3: finds lie apart and in order, everything outside them stays, and it takes few looks."""
    text = "".join(pieces)
    counting = Counting(finder.recognizers)
    spans = counting.find(text)
    assert counting.looks <= 5
    assert all(one.end <= other.start for one, other in itertools.pairwise(spans))
    masked = finder.mask(text)
    assert finder.mask(masked) == masked
    assert finder.find(masked) == ()
    rest, at = masked, 0
    for span in spans:
        kept = text[at : span.start]
        assert rest.startswith(kept)
        rest, at = rest[len(kept) :].removeprefix(f"[REDACTED_{span.kind.upper()}]"), span.end
    assert rest == text[at:]

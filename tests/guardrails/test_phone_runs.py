"""Digits in one run are a phone number where somebody's word says so, and otherwise just a number (6.3.4)."""

from __future__ import annotations

import pytest

from llm4s_notebook.guardrails import PiiMasker

from .support import found

RUNS = ["2147483647", "2147483648", "2125550123", "12125550123", "6502530000", "3105551212"]
"""Digits that could be dialled in the United States."""


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "({})",
        "INT_MAX = {}",
        "exit code {}, see the log",
        "order number {}",
        "invoice #{}",
        "id: {}",
        '{{"user_id": {}, "call_id": {}}}',
        "call id {}",
        "phone_id={}",
        "1-{}",
        "{} bytes, {} files",
        "{}, {}",
        "at the hotel {}",
        "recalled {}",
        "pH {}",
        "Fax 212-555-0199, order {}",
        "call +49 30 901820 about ticket {}",
        "the phone that I have bought, after all this time, for {}",
    ],
)
def test_a_run_of_digits_alone_is_no_phone_number(text: str, run: str) -> None:
    """6.3.4: numbers, ids and ranges; a word that belongs to another number counts for that one."""
    assert [data for _, data in found(text.replace("{{", "{").replace("}}", "}").replace("{}", run), kinds="phone") if run in data] == []


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(
    "text",
    [
        "phone {}",
        "Phone number: {}",
        "phone\n{}",
        "TEL:{}",
        "tel. ({})",
        "Ph: {}",
        '{"phone": "{}"}',
        "user_phone={}",
        "homePhone {}",
        "call me at {} tonight",
        "You can text me on {}",
        "my new number is {}",
        "mobile 1: {}",
        "{} (mobile)",
        "{}, cell",
        "{} ext. 12",
        "{}x123",
        "https://wa.me/{}",
        "Handy {}",
        "mein Telefon: {}",
        "teléfono {}",
        "téléphone : {}",
        "тел. {}",
        "电话{}",
    ],
)
def test_a_run_of_digits_is_a_phone_number_where_it_is_called_one(text: str, run: str) -> None:
    """6.3.4: by a word before it or right behind it, in the languages of many regions, or by an extension."""
    assert found(text.replace("{}", run), kinds="phone") == [("phone", run)]


def test_a_list_of_phone_numbers_goes_on() -> None:
    """6.3.4: one word is enough for all of them."""
    text = "Call 2125550123, 3105551212; 6502530000 or (212) 555-0199, 6502530001. Order 6502530002"
    numbers = ["2125550123", "3105551212", "6502530000", "(212) 555-0199", "6502530001"]
    assert [data for _, data in found(text, kinds="phone")] == numbers


@pytest.mark.parametrize("text", ["212-555-0123", "(212) 555-0123", "212.555.0123", "212 555 0123", "+12125550123", "1-212-555-0123"])
def test_what_is_written_as_a_phone_number_needs_no_word(text: str) -> None:
    """6.3.4."""
    assert found(f"id {text}", kinds="phone") == [("phone", text)]


@pytest.mark.parametrize(
    ("region", "run"), [("DE", "01711234567"), ("FR", "0612345678"), ("GB", "02079460958"), ("JP", "0312345678"), ("AU", "0412345678")]
)
def test_a_zero_before_it_is_how_a_region_writes_a_call(region: str, run: str) -> None:
    """6.3.4: no other number begins with one."""
    assert found(f"id {run}", kinds="phone", regions=region) == [("phone", run)]
    assert found(f"id {run[1:]}", kinds="phone", regions=region) == []


@pytest.mark.parametrize(("region", "run"), [("DK", "32123456"), ("ES", "612345678"), ("IT", "3123456789"), ("SG", "81234567")])
def test_a_region_without_a_zero_needs_the_word_too(region: str, run: str) -> None:
    """6.3.4: whatever regions are given."""
    assert found(f"id {run}", kinds="phone", regions=region) == []
    assert found(f"tel {run}", kinds="phone", regions=region) == [("phone", run)]


async def test_a_mask_makes_no_phone_number_of_the_next_run() -> None:
    """6.3.3, 6.3.4: the word in a placeholder is nobody's."""
    masked = await PiiMasker().check("call 212-555-0123 about 2147483647")
    assert masked == "call [REDACTED_PHONE] about 2147483647"
    assert await PiiMasker().check(masked) == masked

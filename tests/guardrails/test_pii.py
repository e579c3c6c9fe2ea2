"""Personal data: what is found and what is not, and what the detector does about it (6.3, GR-19)."""

from __future__ import annotations

import logging
from typing import Any

import phonenumbers
import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.guardrails import PII_KINDS, PiiDetector, Refused

from .support import found

AROUND = [("", ""), ("my data: ", ", thanks"), ("(", ")"), ("数据是", "。谢谢"), ("\u202b", "\u202c.")]


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("email", "jane.doe+news@mail.example.co.uk"),
        ("email", "jörg@müller.de"),
        ("email", "a@b.co"),
        ("email", "x@xn--80ak6aa92e.xn--p1ai"),
        ("credit_card", "4111 1111 1111 1111"),
        ("credit_card", "4111-1111-1111-1111"),
        ("credit_card", "378282246310005"),
        ("credit_card", "3782 822463 10005"),
        ("credit_card", "6011000990139424"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "gb82west12345698765432"),
        ("ssn", "123-45-6789"),
        ("ssn", "536 90 4399"),
        ("national_id", "54362315-K"),
        ("phone", "+49 30 901820"),
        ("phone", "+1 (212) 555-0123"),
        ("phone", "+44 (0)20 7946 0958"),
        ("phone", "(212) 555-0123"),
        ("phone", "212.555.0123"),
        ("phone", "123-456-7890"),
        ("phone", "1-800-555-0199"),
        ("phone", "212 555 0123"),
        ("phone", "011 49 30 901820"),
        ("ip", "192.168.1.1"),
        ("ip", "2001:db8::8a2e:370:7334"),
        ("ip", "::ffff:192.0.2.128"),
        ("ip", "1:2:3:4:5:6:7:8"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("my data: ", ", thanks"), ("(", ")"), ("数据是", "。谢谢"), ("\u202b", "\u202c.")]
)
def test_each_kind_is_found_whole_and_nothing_beside_it(kind: str, data: str, before: str, after: str):
    """6.3: offsets count code points; neighbours of any script are no part of it."""
    text = f"\U0001f44d {before}{data}{after}"
    assert found(text) == [(kind, data)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing to see",
        "user@localhost",
        "@media print",
        "2024-01-15 12:34:56",
        "from 03.04.2024 10 to 05/06/2024",
        "4111 1111 1111 1112",
        "DE89 3704 0044 0532 0130 01",
        "666-00-0000",
        "12345678A",
        "1.2.3.4.5 and 1.2.3 and 256.1.1.1",
        "x[::2] + y[1::2], std::vector, a::b, 12:34:56",
        "call 3.1415926535 and 0.2125550123",
        "1,234,567,890",
        "2+12345678901 and 1.2345E+12345680",
        "20 24 45 67 89 12 34",
        "call abc2125550123",
        "1" * 100,
    ],
)
def test_what_is_no_personal_data_is_let_be(text: str):
    """6.3: lookalikes."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("email", "jane\u200b.doe@exam\u00adple.com"),
        ("email", "jane\uff20example\uff0ecom"),
        ("credit_card", "\uff14111 1111\u00a01111\u20091111"),
        ("credit_card", "\u0664\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661 \u0661\u0661\u0661\u0661"),
        ("ssn", "123\u201345\u20136789"),
        ("phone", "+49\u202830 \u200f901820".replace("\u2028", "\u202f")),
    ],
)
def test_characters_that_nobody_sees_hide_nothing(kind: str, text: str):
    """6.3: and they are covered with what they are in."""
    assert found(text) == [(kind, text)]


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_phone_numbers_are_found_as_their_region_writes_them(region: str):
    """6.3: each region's own examples; those below seven digits are too short to be told from other numbers."""
    library = phonenumbers
    for sort in (library.PhoneNumberType.FIXED_LINE, library.PhoneNumberType.MOBILE):
        example = library.example_number_for_type(region, sort)
        if example is None:
            continue
        for form in (library.PhoneNumberFormat.INTERNATIONAL, library.PhoneNumberFormat.E164, library.PhoneNumberFormat.NATIONAL):
            written = library.format_number(example, form)
            if form == library.PhoneNumberFormat.NATIONAL and (len(str(example.national_number)) < 7 or region == "BY"):
                continue  # Belarus writes an 8 before the 0
            assert found(f"call {written} now", regions=region, kinds="phone") == [("phone", written)]


def test_each_kind_can_be_looked_for_by_itself():
    """6.3."""
    text = "joe@x.com 4111111111111111 DE89370400440532013000 123-45-6789 54362315-K +4930901820 192.168.1.1"
    assert [kind for kind, _ in found(text)] == ["email", "credit_card", "iban", "ssn", "national_id", "phone", "ip"]
    for kind in PII_KINDS:
        assert [one for one, _ in found(text, kinds=kind)] == [kind]
    assert [one for one, _ in found(text, kinds=["ip", "email"])] == ["email", "ip"]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"on_fail": "Block"}, "on_fail is 'block', 'fix' or 'warn', not 'Block'"),
        ({"kinds": ["email", "name"]}, "not 'name'"),
        ({"kinds": []}, "something to look for"),
        ({"regions": ["UK"]}, "no region 'UK'"),
        ({"regions": [None]}, "no region 'NONE'"),
        ({"recognizers": ["email"]}, "'email' is no recognizer"),
        ({"recognizers": "email"}, "is no recognizer"),
    ],
)
def test_settings_that_are_none_are_refused_at_once(settings: Any, problem: str):
    """Nothing is half made."""
    with pytest.raises(ConfigError, match=problem):
        PiiDetector(**settings)


async def test_block_refuses_and_tells_kinds_and_counts_but_not_what_was_found():
    """GR-19, 6.1.1, 6.1.4: the reason is stored, the text is not."""
    with pytest.raises(Refused) as refused:
        await PiiDetector().check("joe@x.com, ann@x.com and 123-45-6789")
    assert refused.value.reason == "personal data found: email (2), ssn"
    assert await PiiDetector().check("nothing") == "nothing"


async def test_fix_masks_and_warn_passes_on_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture):
    """GR-19, 6.1.1."""
    text = "mail joe@x.com"
    assert await PiiDetector("fix").check(text) == "mail [REDACTED_EMAIL]"
    assert caplog.records == []
    with caplog.at_level(logging.WARNING, "llm4s_notebook.guardrails"):
        assert await PiiDetector(on_fail="warn", name="pii").check(text) == text
        assert await PiiDetector(on_fail="warn").check("nothing") == "nothing"
    assert [record.getMessage() for record in caplog.records] == ["pii: personal data found: email; the text was passed on unchanged"]

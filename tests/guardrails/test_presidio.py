"""presidio's recognizers, one by one: no language model, no network (6.3)."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import presidio_analyzer
import pytest
from presidio_analyzer import Pattern, PatternRecognizer, predefined_recognizers

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.guardrails import PiiDetector, PiiMasker, presidio
from llm4s_notebook.guardrails._pii import _presidio

from .support import found

ADDRESS = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"


def test_a_recognizer_works_without_a_model_and_without_the_network():
    """Every call out is refused, and none was tried; the e-mail recognizer reads the suffixes that its library brings."""
    code = """
    import json, sys

    tried = []

    def watch(event, args):
        if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "urllib.Request"):
            tried.append([event, repr(args)])
            raise OSError("no network here")

    sys.addaudithook(watch)
    from llm4s_notebook.guardrails import PiiDetector, presidio

    before = sorted({"presidio_analyzer", "spacy"} & set(sys.modules))
    shipped = ("EmailRecognizer", "CryptoRecognizer", "MacAddressRecognizer")
    detector = PiiDetector(kinds=(), recognizers=[presidio(name) for name in shipped])
    text = "joe@example.co.uk, joe@example.notasuffix, ADDRESS, 00:1A:2B:3C:4D:5E"
    spans = [[span.kind, text[span.start : span.end]] for span in detector.find(text)]
    print(json.dumps([before, spans, tried, [name for name in sys.modules if name.startswith("en_core")]]))
    """.replace("ADDRESS", ADDRESS)
    made = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    before, spans, tried, models = json.loads(made.stdout)
    assert before == []
    assert spans == [["email_address", "joe@example.co.uk"], ["crypto", ADDRESS], ["mac_address", "00:1A:2B:3C:4D:5E"]]
    assert tried == []
    assert models == []


async def test_a_recognizer_of_ones_own_and_its_score():
    """`min_score` leaves out the weak; the kind is the entity's name."""
    own = PatternRecognizer(supported_entity="TICKET-NO", patterns=[Pattern("strong", r"T-\d{4}", 0.6), Pattern("weak", r"\d{4}", 0.2)])
    text = "T-1234, 5678"
    assert found(text, kinds=(), recognizers=presidio(own)) == [("ticket_no", "T-1234")]
    assert found(text, kinds=(), recognizers=presidio(own, min_score=0.1)) == [("ticket_no", "T-1234"), ("ticket_no", "5678")]
    masker = PiiMasker(recognizers=[presidio(own)])
    masked = await masker.check(f"{text} joe@x.com")
    assert masked == "[REDACTED_TICKET_NO], 5678 [REDACTED_EMAIL]"
    assert await masker.check(masked) == masked


def test_the_recognizer_given_stays_as_it_is():
    """Its e-mail recognizer is read offline in a copy."""
    given = predefined_recognizers.EmailRecognizer()
    presidio(given)
    assert "validate_result" not in vars(given)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("NoSuchRecognizer", "presidio has no recognizer 'NoSuchRecognizer'"),
        ("__name__", "presidio has no recognizer"),
        ("SpacyRecognizer", "it needs more than the text"),
        ("AzureAILanguageRecognizer", "it needs more than the text"),
        (5, "5 is no pattern recognizer"),
    ],
)
def test_what_is_no_pattern_recognizer_is_refused(given: object, problem: str):
    """Names and places need a language model, which nobody here loads."""
    with pytest.raises(ConfigError, match=problem):
        presidio(given)


@pytest.mark.parametrize("min_score", [-0.1, 1.5, True, "0.5", float("nan")])
def test_a_score_that_is_none_is_refused(min_score: Any):
    """0 to 1."""
    with pytest.raises(ConfigError, match="min_score is a number from 0 to 1"):
        presidio("CryptoRecognizer", min_score=min_score)


def test_without_presidio_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    """It is an extra."""

    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named '{name}'")

    monkeypatch.setattr(_presidio, "import_module", missing)
    with pytest.raises(ConfigError, match=r'pip install "llm4s-notebook\[presidio\]"'):
        presidio("CryptoRecognizer")


async def test_a_pattern_that_was_given_up_is_a_fault_and_no_pass(monkeypatch: pytest.MonkeyPatch):
    """6.1.7: presidio notes it in its log and returns as if nothing were there."""
    monkeypatch.setattr(presidio_analyzer.pattern_recognizer, "REGEX_TIMEOUT_SECONDS", 0.05)
    slow = PatternRecognizer(supported_entity="SLOW", patterns=[Pattern("slow", r"(?:a|aa)+(?:b|c)*d", 0.9)])
    detector = PiiDetector(kinds=(), recognizers=presidio(slow))
    with pytest.raises(TimeoutError, match="timed out"):
        await detector.check("a" * 5_000 + "!")
    assert await detector.check("nothing") == "nothing"

"""The guardrails that look for personal data."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Literal, cast, get_args

from ...errors import ConfigError, Refused
from .._worker import in_worker
from ._card import cards
from ._email import Email
from ._finder import Finder
from ._iban import Iban
from ._ip import ip_addresses
from ._national_id import national_ids
from ._phone import Phone
from ._recognizer import PiiRecognizer
from ._span import PiiSpan

_log = logging.getLogger("llm4s_notebook.guardrails")

PiiKind = Literal["email", "phone", "credit_card", "iban", "ssn", "national_id", "ip"]
PII_KINDS: tuple[str, ...] = get_args(PiiKind)

OnFail = Literal["block", "fix", "warn"]


class PiiDetector:
    """Find personal data: refuse the text ("block"), mask what was found ("fix"), or note it in the log and pass it on ("warn").

    Looked for are e-mail addresses, phone numbers, credit cards, IBANs, US social security numbers, other national ids, and
    IP addresses; `kinds` takes a choice of these. Phone numbers are found where they begin with a +, and as they are written in
    the `regions` (two-letter codes; the United States unless told otherwise); digits in one run are one only beside a word that
    says so, such as "call 2125550123" (6.3.4). National ids that are digits and no more are looked for in these regions too,
    all others everywhere. `recognizers` adds your own, or presidio's (`presidio`).

    **Names of persons are not found**, nor are postal addresses, dates of birth or anything else that is known by its meaning
    and not by its form. A number is taken for what its check digits allow: some order number will pass for a card, and a
    mistyped card for an order number.

    Refusals and log lines name kinds and counts, never what was found (6.3.2). The text may be of any size: the work grows in
    proportion to it and is done in a worker thread (6.3.7). Raises: ConfigError for a setting that is none.
    """

    def __init__(
        self,
        on_fail: OnFail = "block",
        *,
        kinds: Iterable[PiiKind] | PiiKind | None = None,
        regions: Iterable[str] | str = ("US",),
        recognizers: Iterable[PiiRecognizer] | PiiRecognizer = (),
        name: str = "PiiDetector",
    ) -> None:
        if on_fail not in get_args(OnFail):
            raise ConfigError(field=name, problems=[f"on_fail is 'block', 'fix' or 'warn', not {on_fail!r}"])
        self.name = name
        self.on_fail = on_fail
        self._finder = _finder(name, kinds, regions, recognizers)
        self.kinds = self._finder.kinds

    def __repr__(self) -> str:
        return f"PiiDetector({self.on_fail!r}, kinds={list(self.kinds)})"

    def find(self, text: str) -> tuple[PiiSpan, ...]:
        """Every stretch of personal data in the text, in order and apart from each other, in code points."""
        return self._finder.find(text)

    async def check(self, text: str) -> str:
        """Return the text, masked with on_fail="fix". Raises: Refused with on_fail="block"."""
        if self.on_fail == "fix":
            return await in_worker(self._finder.mask, text)
        found = await in_worker(self._finder.find, text)
        if not found:
            return text
        told = f"personal data found: {_counted(found)}"
        if self.on_fail == "block":
            raise Refused(told)
        _log.warning("%s: %s; the text was passed on unchanged", self.name, told)
        return text


class PiiMasker:
    """Put a placeholder such as [REDACTED_EMAIL] in the place of personal data; refuses nothing.

    Finds what `PiiDetector` finds - so no names of persons - and takes the same settings. Nothing of a find is left in the
    text; where finds overlap, one placeholder covers them all and names the longest one's kind. A masked text stays as it is
    when it is masked again (6.3.3).

    Around a turn it changes what the model is sent and what the messages show. The query as it was given, and the answer
    before it was guarded, stay in the thread's checkpoints (6.3.8).
    """

    def __init__(
        self,
        *,
        kinds: Iterable[PiiKind] | PiiKind | None = None,
        regions: Iterable[str] | str = ("US",),
        recognizers: Iterable[PiiRecognizer] | PiiRecognizer = (),
        name: str = "PiiMasker",
    ) -> None:
        self.name = name
        self._finder = _finder(name, kinds, regions, recognizers)
        self.kinds = self._finder.kinds

    def __repr__(self) -> str:
        return f"PiiMasker(kinds={list(self.kinds)})"

    async def check(self, text: str) -> str:
        """Return the text with placeholders for what was found."""
        return await in_worker(self._finder.mask, text)


def _counted(found: Iterable[PiiSpan]) -> str:
    counts = Counter(span.kind for span in found)
    return ", ".join(kind if count == 1 else f"{kind} ({count})" for kind, count in counts.items())


def _finder(
    name: str,
    kinds: Iterable[PiiKind] | PiiKind | None,
    regions: Iterable[str] | str,
    recognizers: Iterable[PiiRecognizer] | PiiRecognizer,
) -> Finder:
    import phonenumbers

    wanted: tuple[str, ...] = PII_KINDS if kinds is None else (kinds,) if isinstance(kinds, str) else tuple(kinds)
    places = _regions(regions)
    own = tuple(recognizers) if isinstance(recognizers, Iterable) else (recognizers,)
    problems = [f"kinds are {', '.join(PII_KINDS)}, not {kind!r}" for kind in wanted if kind not in PII_KINDS]
    unknown = [place for place in places if place not in phonenumbers.SUPPORTED_REGIONS]
    problems += [f"no region {place!r}: two letters are wanted, such as 'US' or 'GB'" for place in unknown]
    problems += [f"{one!r} is no recognizer: it needs kinds and find" for one in own if not _is_recognizer(one)]
    if not wanted and not own:
        problems.append("it needs something to look for: at least one of kinds and recognizers")
    if problems:
        raise ConfigError(field=name, problems=problems)
    return Finder([*_shipped(wanted, places), *own])


def _regions(given: Iterable[str] | str) -> tuple[str, ...]:
    return tuple(str(region).upper() for region in ((given,) if isinstance(given, str) else given))


def _is_recognizer(one: object) -> bool:
    kinds: object = getattr(one, "kinds", None)
    if not callable(getattr(one, "find", None)) or not isinstance(kinds, tuple):
        return False
    return all(_is_kind(kind) for kind in cast(tuple[object, ...], kinds))


def _is_kind(kind: object) -> bool:
    return isinstance(kind, str) and kind.isascii() and kind.isidentifier() and kind == kind.lower()


def _shipped(kinds: tuple[str, ...], regions: tuple[str, ...]) -> list[PiiRecognizer]:
    made: list[PiiRecognizer] = []
    if "email" in kinds:
        made.append(Email())
    if "credit_card" in kinds:
        made += cards()
    if "iban" in kinds:
        made.append(Iban())
    made += national_ids(regions, kinds)
    if "phone" in kinds:
        made.append(Phone(regions))
    if "ip" in kinds:
        made += ip_addresses()
    return made

"""Phone numbers, through `phonenumbers`.

The groups of digits are ours to find and `phonenumbers` says which of them are a number. Its own search in a text gives up after a
number of misses, and finds other numbers once the found ones are taken out; this one does neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._phone_words import said_to_be_a_phone
from ._span import PiiSpan

if TYPE_CHECKING:
    from phonenumbers import PhoneNumber

_DIGITS = re.compile(r"[0-9]+")
_GAP = re.compile(r"[ ./()-]{1,3}")
_LEAD = re.compile(r"(?:\+\(?|\(\+?)\Z")
_NO_PLUS = re.compile(r"[0-9]e?\Z", re.IGNORECASE)  # 2+12345678901, 1.5e+12345678
_FRACTION = re.compile(r"[0-9][.,]\Z")
_EXTENSION = re.compile(r"x ?[0-9]|ext", re.IGNORECASE)
_DATE = re.compile(
    r"(?<![0-9])(?:[0-3]?[0-9]([./-])[0-3]?[0-9]\1(?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}([./-])[0-3]?[0-9]\2[0-3]?[0-9])(?![0-9])"
)
_NORTH_AMERICAN = re.compile(r"(?:1[ .-]?)?(?:\([0-9]{3}\) ?|[0-9]{3}[.-] ?)[0-9]{3}[.-][0-9]{4}")

_MIN_DIGITS, _MAX_DIGITS = 7, 17
_WHOLE = 10  # digits; a number of so many without a gap is whole
_MAX_GROUPS, _MAX_GROUPS_WITHOUT_ZERO = 7, 5


@dataclass(frozen=True, slots=True)
class _Group:
    """One run of digits; `lead` is where its + or bracket begins, `follows` says that it goes on from the group before."""

    lead: int
    start: int
    end: int
    follows: bool
    in_date: bool


@dataclass(frozen=True, slots=True)
class _Region:
    """How a region's numbers look; `trunk` goes before them at home, always or not."""

    code: str
    pattern: re.Pattern[str]
    trunk: str
    always: bool
    north_american: bool


class Phone:
    """Finds numbers with a + before them, and those of the given regions as they are written there: in groups, or with the 0 of a call.

    Digits in one run are a number where a word beside them says so (6.3.4). What looks like a date is none.
    """

    kinds = ("phone",)

    def __init__(self, regions: Sequence[str]) -> None:
        import phonenumbers

        self._library = phonenumbers
        self._regions = tuple(map(_region, regions))

    def find(self, text: str) -> Iterator[PiiSpan]:
        """Try the longest number from each group of digits; go on behind what was found."""
        groups = _groups(text)
        at = found_to = 0
        while at < len(groups):
            last = self._number_from(text, groups, at, found_to)
            if last is None:
                at += 1
                continue
            found_to = groups[last].end
            yield PiiSpan(_start(text, groups[at].lead, found_to), found_to, "phone")
            at = last + 1

    def _number_from(self, text: str, groups: Sequence[_Group], first: int, found_to: int) -> int | None:
        """The last group of the number that begins with this one."""
        group = groups[first]
        plus = "+" in text[group.lead : group.start]
        before = text[max(found_to, group.lead - 2) : group.lead]
        if plus and _NO_PLUS.search(before):
            return None
        if group.lead == group.start and before[-1:].isascii() and before[-1:].isalpha():
            return None
        ends: list[int] = []
        digits = 0
        for last in range(first, min(first + _MAX_GROUPS, len(groups))):
            digits += groups[last].end - groups[last].start
            if digits > _MAX_DIGITS or groups[last].in_date or (last > first and not groups[last].follows):
                break
            if last > first and plus and group.end - group.start >= _WHOLE and text[group.end] == " ":
                break  # written without gaps: what comes after a space is something else
            if digits >= _MIN_DIGITS and _may_end(text, groups[last].end) and not (last == first and _FRACTION.search(before)):
                ends.append(last)
        written_to_be_called = plus or text[group.start] == "0"
        for last in reversed(ends):
            end = groups[last].end
            in_one_run = _is_one_run(groups[first : last + 1])
            if in_one_run and not written_to_be_called and not said_to_be_a_phone(text, group.lead, end, found_to):
                continue
            if self._is_number(text[_start(text, group.lead, end) : end], last - first + 1):
                return last
        return None

    def _is_number(self, written: str, groups: int) -> bool:
        if "+" in written[:2]:
            number = self._parsed(written, None)
            return number is not None and self._library.is_possible_number(number)
        digits = "".join(_DIGITS.findall(written))
        if written.startswith("0.") or (digits[0] != "0" and groups > _MAX_GROUPS_WITHOUT_ZERO):
            return False
        return any(self._is_national(written, digits, groups, region) for region in self._regions)

    def _is_national(self, written: str, digits: str, groups: int, region: _Region) -> bool:
        if region.north_american and _NORTH_AMERICAN.fullmatch(written):
            return True  # the shape is enough: invented numbers are written so too
        if not _may_be(digits, region):
            return False
        number = self._parsed(written, region.code)
        if number is None or not self._library.is_valid_number(number):
            return False
        return digits.startswith("0") or self._is_written_so(written, groups, region.code)

    def _is_written_so(self, written: str, groups: int, region: str) -> bool:
        """Where no 0 goes before it, only the way it is written tells a number from some other, or from a list of them."""
        leniency = self._library.Leniency.STRICT_GROUPING if groups > 1 else self._library.Leniency.VALID
        matches = self._library.PhoneNumberMatcher(written, region, leniency, 1)  # one try: the whole of it, or nothing
        return any((match.start, match.end) == (0, len(written)) for match in matches)

    def _parsed(self, written: str, region: str | None) -> PhoneNumber | None:
        try:
            return self._library.parse(written, region)
        except self._library.NumberParseException:
            return None


def _groups(text: str) -> list[_Group]:
    groups: list[_Group] = []
    dates = [match.span() for match in _DATE.finditer(text)]
    edge = date = 0
    for match in _DIGITS.finditer(text):
        start, end = match.span()
        while date < len(dates) and dates[date][1] <= start:
            date += 1
        in_date = date < len(dates) and dates[date][0] <= start
        lead = _LEAD.search(text, max(edge, start - 3), start)
        follows = bool(groups) and _GAP.fullmatch(text, edge, start) is not None
        groups.append(_Group(lead.start() if lead else start, start, end, follows, in_date))
        edge = end
    return groups


def _start(text: str, lead: int, end: int) -> int:
    """Where the number begins; a bracket that it does not close encloses more than the number."""
    return lead + (text[lead] == "(" and text.count("(", lead, end) > text.count(")", lead, end))


def _is_one_run(groups: Sequence[_Group]) -> bool:
    """Nothing of the number stands apart, but for the 1 that goes before it in North America."""
    lengths = [group.end - group.start for group in groups]
    return sum(lengths) - max(lengths) <= 1


def _may_be(digits: str, region: _Region) -> bool:
    """Whether `phonenumbers` is worth asking: the digits have the region's form, with what goes before them; or call abroad."""
    if digits.startswith(("00", "011")):
        return True
    if region.trunk and digits.startswith(region.trunk) and region.pattern.fullmatch(digits, len(region.trunk)):
        return True
    return not region.always and region.pattern.fullmatch(digits) is not None


def _may_end(text: str, end: int) -> bool:
    following = text[end : end + 1]
    return not (following.isascii() and following.isalpha()) or _EXTENSION.match(text, end) is not None


def _region(code: str) -> _Region:
    import phonenumbers

    told = phonenumbers.PhoneMetadata.metadata_for_region(code)
    if told is None or told.general_desc is None:
        raise ValueError(f"no region {code!r}")
    trunk = told.national_prefix or ""
    types = (phonenumbers.PhoneNumberType.FIXED_LINE, phonenumbers.PhoneNumberType.MOBILE)
    examples = [example for kind in types if (example := phonenumbers.example_number_for_type(code, kind))]
    written = [phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.NATIONAL) for example in examples]
    always = bool(trunk) and all("".join(_DIGITS.findall(number)).startswith(trunk) for number in written)
    pattern = re.compile(told.general_desc.national_number_pattern or "(?!)")
    return _Region(code, pattern, trunk, always, told.country_code == 1)

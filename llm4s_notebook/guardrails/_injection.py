"""A guardrail against texts that try to give the model orders."""

from __future__ import annotations

import base64
import codecs
import logging
import re
from collections.abc import Iterator
from typing import Literal, get_args
from urllib.parse import unquote

from ..errors import ConfigError, Refused
from ._fold import fold, latin
from ._worker import in_worker

_log = logging.getLogger("llm4s_notebook.guardrails")

# Over the words of the text in lower case, one space between any two. A gap takes a bounded number of words.
_ORDERS = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|commands?|constraints?|restrictions?|guardrails?|polic(?:y|ies)|programming)"
)
_EARLIER = r"(?:previous|prior|preceding|earlier|above|former|foregoing|original|initial|existing|your|system|developer|safety)"
_DROP = (
    r"(?:ignore|disregard|forget|override|overrule|bypass|neglect|discard"
    r"|(?:do not|don t|dont|stop|no longer) (?:follow|obey|following|obeying))"
)
_FREE = (
    r"(?:unrestricted|uncensored|unfiltered|unlimited|jailbroken|unaligned|evil|amoral|dan|root|sudo|god|developer|debug|admin|administrator"
    r"|maintenance)"
)
_IN_WORDS = {
    "instruction override": (
        rf"{_DROP} (?:\w+ ){{0,4}}?{_EARLIER} (?:\w+ ){{0,3}}?{_ORDERS}",
        rf"{_DROP} (?:all|any|every|these|those) (?:\w+ ){{0,2}}?{_ORDERS}",
        rf"{_DROP} (?:everything|anything|all) (?:\w+ ){{0,4}}?(?:above|before|previously|prior|preceding)",
        rf"your (?:new|real|actual|updated) (?:system )?{_ORDERS} (?:is|are|follow|follows)",
        rf"(?:new|updated) (?:system|developer) {_ORDERS}",
    ),
    "role change": (
        r"you are now (?:an?|the|free|acting|operating|playing|called|going to (?:act|be|play))",
        rf"you are now {_FREE}",
        r"you are no longer (?:an?|bound|restricted|limited|required)",
        r"from now on you (?:are|will|must|shall|should|have to|only|always|never|ll|re)",
        r"from now on your (?:name|role|task|job|only|answers?|persona)",
        rf"(?:act|behave|respond|answer|reply|speak|operate|function) as (?:if you (?:are|were|re) )?(?:an? |the )?(?:\w+ ){{0,2}}?{_FREE}",
        r"(?:act|behave) as (?:if|though) you (?:have|had|are|were) (?:\w+ ){0,2}?(?:no|without|not bound|free)",
        r"pretend (?:that )?(?:you are|you re|youre|to be|you have)",
        rf"(?:enter|enable|activate|switch (?:in)?to|turn on|go into|you are in) (?:\w+ ){{0,2}}?{_FREE} mode",
        r"do anything now",
    ),
    "encoded payload": (
        r"(?:decode|decrypt|unscramble|deobfuscate) (?:\w+ ){0,8}?(?:and|then) (?:\w+ ){0,2}?"
        r"(?:follow|execute|run|obey|do|perform|comply|carry)",
    ),
}
# Over the folded text: what only a chat template or a forged transcript has.
_MARKS = (
    r"<\|(?:im_start|im_end|system|user|assistant|end_of_turn|eot_id|start_header_id|end_header_id|endoftext|begin_of_text)\|>",
    r"\[/?INST\]|<<\s{0,3}/?SYS\s{0,3}>>|<(?:start|end)_of_turn>",
    r"</?\s{0,3}(?:system|assistant)(?:[ _-](?:prompt|message|instructions?))?\s{0,3}>",
    r"(?:^|\n)[ \t]{0,3}#{1,6}[ \t]{0,3}(?:system|developer|assistant)[ \t]{0,3}:",
    r"(?:^|\n)[ \t]{0,3}(?:system|developer) (?:prompt|message|instructions?)[ \t]{0,3}:",
)
_BASE64 = re.compile(r"(?<![0-9A-Za-z+/_-])[0-9A-Za-z+/_-]{16,}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:(?:\\x|0x)?[0-9a-f]{2}[ ,]?){8,}(?![0-9A-Za-z])", re.IGNORECASE)
_TAGS = range(0xE0020, 0xE007F)
"""A block of characters without width that has a twin for each ASCII character; a model reads it, a person does not see it."""

OnFail = Literal["block", "warn"]


class PromptInjectionDetector:
    """Refuse a text that gives the model orders ("block"), or note it in the log and pass it on ("warn").

    Looked for are patterns, in English, of three sorts: instruction override ("ignore all previous instructions"), role change
    ("you are now …", and the marks of a chat template or transcript), and encoded payloads - either of these in base64, in
    hexadecimal, percent-encoded, in ROT13 or in characters that nobody sees. Case, punctuation, line breaks, full-width letters,
    characters without width and letters of other scripts drawn like Latin ones make no difference.

    It is a list of patterns: a determined author gets past it, and a text about prompt injection does not. Refusals name the
    sort and never the text. There is nothing to fix, so `on_fail` has no "fix". Raises: ConfigError for a setting that is none.
    """

    def __init__(self, on_fail: OnFail = "block", *, name: str = "PromptInjectionDetector") -> None:
        if on_fail not in get_args(OnFail):
            raise ConfigError(field=name, problems=[f"on_fail is 'block' or 'warn', not {on_fail!r}"])
        self.name = name
        self.on_fail = on_fail
        self._words = {sort: re.compile(rf"\b(?:{'|'.join(patterns)})\b") for sort, patterns in _IN_WORDS.items()}
        self._marks = re.compile("|".join(_MARKS), re.IGNORECASE)

    def __repr__(self) -> str:
        return f"PromptInjectionDetector({self.on_fail!r})"

    async def check(self, text: str) -> str:
        """Return the text as it is. Raises: Refused with on_fail="block"."""
        found = await in_worker(self.find, text)
        if not found:
            return text
        told = f"this reads like a prompt injection: {', '.join(found)}"
        if self.on_fail == "block":
            raise Refused(told)
        _log.warning("%s: %s; the text was passed on unchanged", self.name, told)
        return text

    def find(self, text: str) -> tuple[str, ...]:
        """The sorts of injection found: "instruction override", "role change", "encoded payload"."""
        found = self._plain(text)
        if any(self._plain(hidden) for hidden in _decoded(text)):
            found["encoded payload"] = None
        return tuple(found)

    def _plain(self, text: str) -> dict[str, None]:
        folded = latin(fold(text).text)
        words = " ".join(re.findall(r"\w+", folded.lower()))
        found = dict.fromkeys(sort for sort, pattern in self._words.items() if pattern.search(words))
        if self._marks.search(folded):
            found["role change"] = None
        return found


def _decoded(text: str) -> Iterator[str]:
    """What may be hidden in the text, each piece of it read once in each way."""
    folded = fold(text).text
    yield codecs.encode(folded, "rot13")
    yield "".join(chr(ord(character) - 0xE0000) for character in text if ord(character) in _TAGS)
    if "%" in folded:
        yield unquote(folded, errors="replace")
    yield "\n".join(_as_text(bytes.fromhex(re.sub(r"\\x|0x|[ ,]", "", match.group()))) for match in _HEX.finditer(folded))
    tokens = [match.group() for match in _BASE64.finditer(folded)]
    # a token as it stands, and its parts: what looks like a token's beginning may be a path or a name before it
    yield "\n".join(_as_text(_from_base64(part)) for token in tokens for part in (token, *re.split("[+/_-]", token)))


def _from_base64(token: str) -> bytes:
    whole = token.replace("-", "+").replace("_", "/")
    whole = whole[: len(whole) - (len(whole) % 4 == 1)]
    return base64.b64decode(whole + "=" * (-len(whole) % 4))


def _as_text(data: bytes) -> str:
    return data.decode("utf-8", errors="ignore")

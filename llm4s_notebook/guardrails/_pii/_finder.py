"""All recognizers over one text: what they find, merged, and the text with placeholders in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .._fold import COVERED, fold
from ._recognizer import PiiRecognizer
from ._span import PiiSpan, placeholder

_MAX_PASSES = 8
"""Ours need two or three; others' may uncover something new in every pass, and a text must not decide how long it takes."""


class Finder:
    """Looks until nothing new comes up, each time with what was found covered.

    So finds that hid one another all come out, and a masked text, whose placeholders are covered too, has nothing left to find.
    """

    def __init__(self, recognizers: Sequence[PiiRecognizer]) -> None:
        self.recognizers = tuple(recognizers)
        self.kinds = tuple(dict.fromkeys(kind for recognizer in recognizers for kind in recognizer.kinds))
        self._placeholders = {placeholder(kind): kind for kind in self.kinds}
        self._masked = re.compile("|".join(map(re.escape, self._placeholders)) or r"(?!)")

    def find(self, text: str) -> tuple[PiiSpan, ...]:
        """Every stretch of personal data, in order and apart; finds that overlap are one, of the longest one's kind."""
        masked = [PiiSpan(*match.span(), self._placeholders[match.group()]) for match in self._masked.finditer(text)]
        covered = masked
        for _ in range(_MAX_PASSES):
            new = self._look(text, covered)
            if not new:
                break
            covered = _merged([*covered, *new])
        return tuple(sorted(set(covered) - set(masked)))

    def mask(self, text: str) -> str:
        """The text with a placeholder for each find."""
        pieces: list[str] = []
        at = 0
        for span in self.find(text):
            pieces += text[at : span.start], placeholder(span.kind)
            at = span.end
        return "".join([*pieces, text[at:]])

    def _look(self, text: str, covered: Sequence[PiiSpan]) -> list[PiiSpan]:
        """What the recognizers find in the text with these stretches covered, as places in the text."""
        folded = fold(text, ((span.start, span.end) for span in covered))
        hidden = {span.start for span in covered}
        new: list[PiiSpan] = []
        for recognizer in self.recognizers:
            for span in recognizer.find(folded.text):
                if not 0 <= span.start < span.end <= len(folded.text) or span.kind not in recognizer.kinds:
                    raise ValueError(f"{recognizer!r} found {span}, which is no stretch of the text or not of its kinds")
                stretch = range(span.start, span.end)
                if all(folded.text[at] == COVERED and folded.starts[at] in hidden for at in stretch):
                    continue
                new.append(PiiSpan(*folded.origin(span.start, span.end), span.kind))
        return new


def _merged(spans: Iterable[PiiSpan]) -> list[PiiSpan]:
    merged: list[PiiSpan] = []
    longest = 0
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if merged and span.start < merged[-1].end:
            last = merged[-1]
            kind = span.kind if span.end - span.start > longest else last.kind
            longest = max(longest, span.end - span.start)
            merged[-1] = PiiSpan(last.start, max(last.end, span.end), kind)
        else:
            merged.append(span)
            longest = span.end - span.start
    return merged

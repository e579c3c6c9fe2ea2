"""Reasoning that a model writes into its text: `<think>…</think>` at the beginning of an answer (M2.3).

Local servers pass it on as it comes. It is told apart here, and not by the library, which sees a tag in a stream only where a
piece is that tag and nothing else: where pieces are cut is the server's affair, and the answer must not depend on it (M3.2).
"""

from __future__ import annotations

from collections.abc import Iterator

from ._client import Delta

_OPEN, _CLOSE = "<think>", "</think>"


def without_reasoning(text: str) -> str:
    """The text behind the block that it begins with; the whole text where there is no block, or one that does not end."""
    if not text.lstrip().startswith(_OPEN):
        return text
    _, closed, answer = text.partition(_CLOSE)
    return answer.lstrip() if closed else text


class ReasoningInText:
    """The same for a text that comes in pieces: each is given on as text or as reasoning once it is known which it is."""

    def __init__(self) -> None:
        self._held = ""
        self._step = self._begin

    def told_apart(self, text: str) -> Iterator[Delta]:
        """What a piece adds. What may yet be a tag is kept for the next one."""
        self._held += text
        step = None
        while step != self._step:
            step = self._step
            yield from step()

    def rest(self) -> Iterator[Delta]:
        """What was kept when the answer is over."""
        rest, self._held = self._held, ""
        if rest.strip() or (rest and self._step == self._text):
            yield Delta(thinking=rest) if self._step == self._reasoning else Delta(text=rest)

    def _begin(self) -> Iterator[Delta]:
        begun = self._held.lstrip()
        if begun.startswith(_OPEN):
            self._held, self._step = begun.removeprefix(_OPEN), self._reasoning
        elif not _OPEN.startswith(begun):
            self._step = self._text
        yield from ()

    def _reasoning(self) -> Iterator[Delta]:
        said, closed, behind = self._held.partition(_CLOSE)
        if closed:
            self._held, self._step = behind, self._behind
        else:
            kept = next((n for n in range(len(_CLOSE) - 1, 0, -1) if said.endswith(_CLOSE[:n])), 0)
            said, self._held = said[: len(said) - kept], said[len(said) - kept :]
        if said:
            yield Delta(thinking=said)

    def _behind(self) -> Iterator[Delta]:
        self._held = self._held.lstrip()
        if self._held:
            self._step = self._text
        yield from ()

    def _text(self) -> Iterator[Delta]:
        said, self._held = self._held, ""
        if said:
            yield Delta(text=said)

"""What is told live of a client's pieces (8.1). Whatever they are, telling them fails no call: what counts is the completion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from ..models import Delta, Retry, ToolCallDelta
from . import events
from ._family import Member

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")
_UNKNOWN = "\ufffd"
_LONGEST_WAIT = 1e9  # seconds; a clock can count them


class Streamed:
    """One client call's pieces as events. A character that two pieces share is told with the second of them.

    The arguments of a call whose tool has secret ones are not told, since a piece cannot be told from a piece of a secret (3.8.2);
    where an agent has such a tool, neither are those of a call of which is not known which tool it is for.
    """

    __slots__ = ("_begun", "_halves", "_member")

    def __init__(self, member: Member) -> None:
        self._member = member
        self._begun: dict[int, tuple[str, str]] = {}  # the id and the name of each call, which not every client repeats
        self._halves: dict[object, str] = {}

    def again(self) -> None:
        """What came before is void."""
        self._begun, self._halves = {}, {}

    def told(self, attempt: int, delta: Delta) -> Iterator[events.AgentEvent]:
        """The events of a piece: none of what is no text."""
        if (text := self._text("thinking", delta.thinking)) != "":
            yield events.ThinkingDelta(attempt, text)
        if (text := self._text("text", delta.text)) != "":
            yield events.TextDelta(attempt, text)
        piece: object = delta.tool_call
        if isinstance(piece, ToolCallDelta) and type(piece.index) is int:
            yield self._call(attempt, piece)

    def _call(self, attempt: int, piece: ToolCallDelta) -> events.ToolCallDelta:
        id, name = self._begun.get(piece.index, ("", ""))
        id, name = self._begun[piece.index] = self._text("", piece.id) or id, self._text("", piece.name) or name
        return events.ToolCallDelta(attempt, piece.index, id, name, "" if self._secret(name) else self._text(piece.index, piece.arguments))

    def _secret(self, name: str) -> bool:
        member = self._member
        return bool(member.secret_places) and (name in member.secret_places or not (name in member.tools or name in member.handoffs))

    def _text(self, place: object, text: object) -> str:
        """A piece as text that can be told: without a half of a character, which is kept for the next piece of that place."""
        if not isinstance(text, str):
            return ""
        if text.isascii() and not self._halves:
            return str(text)
        text = self._halves.pop(place, "") + text
        if _HALF.search(text) is None:
            return text
        text = _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        if place != "" and "\ud800" <= text[-1] <= "\udbff":
            self._halves[place], text = text[-1], text[:-1]
        return _HALF.sub(_UNKNOWN, text)


def told_wait(member: Member, attempt: int, retry: Retry) -> events.ModelCallWaits:
    """What a client says of its waiting (M3.5); a number of seconds that is none counts as 0."""
    seconds = cast(object, retry.seconds)  # a client is not always typed
    known = min(seconds, _LONGEST_WAIT) if isinstance(seconds, int | float) and seconds > 0 else 0.0
    return events.ModelCallWaits(member.id, attempt, float(known), _HALF.sub(_UNKNOWN, str(retry.fault)))

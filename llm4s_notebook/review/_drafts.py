"""What a person has begun on the cards and not yet sent (W1.4)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

from ..agent import SecretPlaces
from ..wire import Json, JsonObject, PendingCard

MAX_DRAFT_BYTES = 1_000_000
FORM = "agent:"
"""What the id of a draft on an agent's form begins with; an interrupt's never does."""


class Drafts:
    """Drafts by interrupt id, or by FORM and an agent's id.

    They are opaque JSON, kept in the kernel's memory only, never stored and never in a saved notebook.
    """

    def __init__(self) -> None:
        self._drafts: JsonObject = {}

    def save(self, interrupt_id: str, draft: Json) -> None:
        """Keep `draft`; None forgets it. Raises: ValueError for one above MAX_DRAFT_BYTES."""
        if draft is None:
            self._drafts.pop(interrupt_id, None)
            return
        if len(json.dumps(draft)) > MAX_DRAFT_BYTES:
            raise ValueError(f"the draft is longer than {MAX_DRAFT_BYTES} bytes")
        self._drafts[interrupt_id] = draft

    def forget(self, interrupt_ids: Iterable[str]) -> bool:
        """Drop the drafts of answered interrupts. True when there were any."""
        gone = [self._drafts.pop(interrupt_id, None) for interrupt_id in interrupt_ids]
        return any(draft is not None for draft in gone)

    def swap(self, drafts: JsonObject) -> JsonObject:
        """Put other cards' drafts in the place of those here; the agents' forms keep theirs."""
        gone = {id: draft for id, draft in self._drafts.items() if not id.startswith(FORM)}
        self._drafts = {id: draft for id, draft in self._drafts.items() if id not in gone} | drafts
        return gone

    def all(self) -> JsonObject:
        """A copy of all drafts, for a view that has just rendered."""
        return dict(self._drafts)


_PLAIN = ("decision", "reason", "mode", "chosen")  # what a draft may have beside the value, and holds no part of it


def without_secrets(draft: Json, card: PendingCard | None) -> Json:
    """The draft as it is kept and told to the other views: without the secrets a person has typed (3.8.7). None keeps nothing.

    What is left out has to be typed again where the draft is taken up; it must not look as if it were there.
    """
    schema = None if card is None else card.arguments_schema if card.kind == "APPROVAL" else card.answer_schema
    places = None if schema is None else SecretPlaces.of(schema)
    if places is None:
        return draft
    if not isinstance(draft, dict):
        return None
    kept: JsonObject = {name: value for name, value in draft.items() if name in _PLAIN}
    kept.update({name: cast(Json, places.leave_out(draft[name])) for name in ("arguments", "value") if name in draft})
    raw = draft.get("raw")
    if isinstance(raw, str):
        try:
            written: Any = json.loads(raw)
        except ValueError:  # where in half-written JSON a secret is nobody can tell
            return kept
        left: Any = places.leave_out(written)
        kept["raw"] = raw if left == written else json.dumps(left, ensure_ascii=False, indent=2)
    return kept

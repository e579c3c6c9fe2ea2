"""What a browser may ask of a session. Browser to kernel; each request gets exactly one reply (W1.5).

Only interrupt ids name what is answered: no request carries a tool's name or a call, so a message cannot make anything run
but what the kernel has pending (F12, F25). Arguments appear in an edit alone, and are validated against the tool's schema.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ._base import Json, JsonObject, WireModel
from ._editor import ChangeAgent, GoOn

Id = Annotated[str, Field(min_length=1, max_length=200)]


class Approve(WireModel):
    decision: Literal["approve"]
    id: Id


class Reject(WireModel):
    decision: Literal["reject"]
    id: Id
    reason: str


class Edit(WireModel):
    decision: Literal["edit"]
    id: Id
    arguments: JsonObject


class Reply(WireModel):
    """A value for a tool's or a middleware's question; a guardrail verdict is one too."""

    decision: Literal["reply"]
    id: Id
    value: Json


class Proceed(WireModel):
    decision: Literal["proceed"]
    id: Id


Decision = Annotated[Approve | Reject | Edit | Reply | Proceed, Field(discriminator="decision")]


class Hello(WireModel):
    """A view has rendered (or asks whether the kernel is there): the reply carries the drafts."""

    kind: Literal["hello"]


class Run(WireModel):
    kind: Literal["run"]
    query: str


class Submit(WireModel):
    """Decisions taken together: one resume, all or nothing (W2.6)."""

    kind: Literal["submit"]
    decisions: list[Decision]


class Cancel(WireModel):
    kind: Literal["cancel"]


class Recover(WireModel):
    kind: Literal["recover"]


class Abandon(WireModel):
    kind: Literal["abandon"]


class SetHold(WireModel):
    """Switch one of a node's two breakpoints (W3.2)."""

    kind: Literal["set_hold"]
    node: Id
    phase: Literal["BEFORE", "AFTER"]
    on: bool


class SaveDraft(WireModel):
    """What a person has begun on a card, or on the form of an agent ("agent:<id>", W4.5); null forgets it (W1.4)."""

    kind: Literal["save_draft"]
    id: Id
    draft: Json


RequestBody = Annotated[
    Hello | Run | Submit | Cancel | Recover | Abandon | SetHold | SaveDraft | ChangeAgent | GoOn, Field(discriminator="kind")
]


class Request(WireModel):
    """The envelope: `request_id` is the browser's own, fresh for each request; the reply names it."""

    request_id: Id
    body: RequestBody


request_adapter: TypeAdapter[Request] = TypeAdapter(Request)

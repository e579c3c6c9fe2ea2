"""What a kernel sends a browser beside the state: replies and pushes. Kernel to browser."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ._base import JsonObject, WireModel
from ._session import ErrorView, LiveView, Problem


class Done(WireModel):
    """The request was carried out (a run or a resume: admitted)."""

    kind: Literal["done"]
    request_id: str
    said: str  # one line for the live region: "approved deploy, 2 left"


class Welcome(WireModel):
    """The reply to hello: the kernel is there, with the drafts by interrupt id and what is being written just now."""

    kind: Literal["welcome"]
    request_id: str
    revision: int
    drafts: JsonObject
    live: LiveView = LiveView()


class Refusal(WireModel):
    """The request changed nothing: why, and each problem on its card and field (W2.7)."""

    kind: Literal["refused"]
    request_id: str
    error: ErrorView
    problems: list[Problem]


class Drafts(WireModel):
    """Pushed to every view when a draft changes in one of them; `origin` is the request that changed it."""

    kind: Literal["drafts"]
    origin: str | None
    drafts: JsonObject


class LivePiece(WireModel):
    """What continues one message of the live ones: its text, and of each of its calls, in order, the arguments' JSON text."""

    id: str
    note: str
    text: str
    arguments: list[str]


class Pieces(WireModel):
    """Pushed while a model writes, at most 20 times a second: what came since piece `number - 1`, whatever the length of the thread (W4.7).

    A view that lacks that one says hello again.
    """

    kind: Literal["live"]
    number: int
    waiting: str | None  # takes the place of the last one
    pieces: list[LivePiece]


Message = Annotated[Done | Welcome | Refusal | Drafts | Pieces, Field(discriminator="kind")]

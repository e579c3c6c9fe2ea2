"""What a kernel sends a browser beside the state: replies and pushes. Kernel to browser."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ._base import JsonObject, WireModel
from ._session import ErrorView, Problem


class Done(WireModel):
    """The request was carried out (a run or a resume: admitted)."""

    kind: Literal["done"]
    request_id: str
    said: str  # one line for the live region: "approved deploy, 2 left"


class Welcome(WireModel):
    """The reply to hello: the kernel is there, and these are the drafts by interrupt id."""

    kind: Literal["welcome"]
    request_id: str
    revision: int
    drafts: JsonObject


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


Message = Annotated[Done | Welcome | Refusal | Drafts, Field(discriminator="kind")]

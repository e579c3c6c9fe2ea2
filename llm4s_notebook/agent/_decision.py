"""The JSON of an approval's decision (2.3), and what a stack run keeps of the answers it was given (4.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ..models import Json


class Approve(BaseModel):
    """Run the call as it stands."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Approve")
    decision: Literal["approve"] = "approve"


class Reject(BaseModel):
    """Do not run the call; the model sees the reason."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Reject")
    decision: Literal["reject"] = "reject"
    reason: str


class Edit(BaseModel):
    """Run the call with these arguments instead."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Edit")
    decision: Literal["edit"] = "edit"
    arguments: dict[str, Any]


Decision: TypeAlias = Annotated[Approve | Reject | Edit, Field(discriminator="decision")]


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A middleware's question and its answer, given earlier in the same stack run and kept while it runs again (4.5)."""

    agent: str
    middleware: str
    question: Json
    answer: Json

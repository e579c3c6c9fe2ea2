"""The base of every shape that crosses between kernel and browser."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

Json: TypeAlias = JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]


class WireModel(BaseModel):
    """Closed, strict and frozen: an unknown field, a missing field or a wrong type is an error, never a guess."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, json_schema_serialization_defaults_required=True)

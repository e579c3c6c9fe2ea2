"""Write the wire's JSON Schema, from which the browser's TypeScript types are generated.

`python -m llm4s_notebook.wire._export FILE` writes an OpenAPI 3.1 document with nothing but schemas. What the kernel sends is
exported in serialization mode (a field with a default is always there), what a browser sends in validation mode.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from ._message import Done, Drafts, Message, Pieces, Refusal, Welcome
from ._request import Request
from ._session import SessionState
from ._texts import TextsMessage, TextsRequest, TextsState

_REFERENCE = "#/components/schemas/{model}"


def wire_schema() -> dict[str, Any]:
    """The schemas of all messages, by name, as an OpenAPI 3.1 document."""
    sent = (SessionState, Done, Welcome, Refusal, Drafts, Pieces, TextsState)
    _, kernel = models_json_schema([(model, "serialization") for model in sent], ref_template=_REFERENCE)
    _, browser = models_json_schema([(model, "validation") for model in (Request, TextsRequest)], ref_template=_REFERENCE)
    schemas: dict[str, Any] = {**kernel["$defs"], **browser["$defs"]}
    unions: dict[str, TypeAdapter[BaseModel]] = {"Message": TypeAdapter(Message), "TextsMessage": TypeAdapter(TextsMessage)}
    for name, union in unions.items():
        message = union.json_schema(mode="serialization", ref_template=_REFERENCE)
        schemas |= message.pop("$defs")
        schemas[name] = message
    schemas.setdefault("JsonValue", {})
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "llm4s-notebook wire", "version": "1"}, "paths": {}}
    document["components"] = {"schemas": {name: _without_titles(schemas[name]) for name in sorted(schemas)}}
    return document


def _without_titles(schema: Any) -> Any:
    """Drop the titles pydantic derives from names: the generator would number them as aliases."""
    if isinstance(schema, dict):
        given = cast(dict[str, Any], schema)
        return {key: _without_titles(value) for key, value in given.items() if not (key == "title" and isinstance(value, str))}
    if isinstance(schema, list):
        return [_without_titles(item) for item in cast(list[Any], schema)]
    return schema


def main(path: str) -> None:
    Path(path).write_text(json.dumps(wire_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])

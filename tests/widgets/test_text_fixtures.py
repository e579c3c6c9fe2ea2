"""What vitest reads of a text review is what the kernel sends and takes. That the files are today's, test_form_fixtures.py checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, TypeAdapter

from llm4s_notebook.wire import TextsMessage, TextsState, texts_request_adapter

FIXTURES = Path(__file__).parents[2] / "js" / "tests" / "fixtures" / "texts"


@pytest.mark.parametrize("kind", ["found", "rows", "opened", "decided", "marks"])
def test_a_golden_message_reads_and_writes_the_same(kind: str) -> None:
    """T3.1: one of every kind beside those of a session."""
    text = (FIXTURES / f"{kind}.json").read_text(encoding="utf-8")
    message = TypeAdapter[BaseModel](TextsMessage).validate_json(text)
    assert message.model_dump(mode="json") == json.loads(text)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("request_*.json")), ids=lambda path: path.stem)
def test_a_golden_request_reads_and_writes_the_same(path: Path) -> None:
    """The same for what a browser sends."""
    text = path.read_text(encoding="utf-8")
    assert texts_request_adapter.validate_json(text, strict=True).model_dump(mode="json") == json.loads(text)


def test_the_document_of_the_fixtures_is_one() -> None:
    """T3.1: what vitest draws is what a kernel sends."""
    text = (FIXTURES / "state.json").read_text(encoding="utf-8")
    assert TextsState.model_validate_json(text).model_dump(mode="json") == json.loads(text)

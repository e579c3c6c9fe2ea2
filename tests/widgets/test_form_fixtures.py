"""The fixtures that the browser's tests read come from today's models, and what its forms send is what pydantic takes."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from llm4s_notebook.wire import Message, Reply, SessionState, Submit, request_adapter

JS_TESTS = Path(__file__).parents[2] / "js" / "tests"
FIXTURES = JS_TESTS / "fixtures"
DECISIONS: list[dict[str, Any]] = json.loads((FIXTURES / "decisions.json").read_text(encoding="utf-8"))


def read(path: str) -> Any:
    return json.loads((FIXTURES / path).read_text(encoding="utf-8"))


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The scripts that make the fixtures, importable for one test."""
    names = ("answer_types", "sessions", "make_fixtures")
    monkeypatch.syspath_prepend(str(JS_TESTS))
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


def test_the_committed_fixtures_are_what_the_models_give_today(modules: dict[str, ModuleType]) -> None:
    """A changed wire model or a new pydantic shows here before a browser reads something the kernel does not send."""
    assert modules["make_fixtures"].differences() == []


@pytest.mark.parametrize("name", ["done", "drafts", "refused", "welcome"])
def test_a_golden_message_of_the_kernel_reads_and_writes_the_same(name: str) -> None:
    """One golden sample per message kind, read by pytest and by vitest."""
    sample = read(f"messages/{name}.json")
    message = TypeAdapter[BaseModel](Message).validate_json(json.dumps(sample))
    assert message.model_dump(mode="json") == sample


@pytest.mark.parametrize("path", sorted((FIXTURES / "messages").glob("request_*.json")), ids=lambda path: path.stem)
def test_a_golden_request_of_the_browser_reads_and_writes_the_same(path: Path) -> None:
    """The same for what a browser sends."""
    sample = json.loads(path.read_text(encoding="utf-8"))
    assert request_adapter.validate_json(json.dumps(sample)).model_dump(mode="json") == sample


@pytest.mark.parametrize("path", sorted((FIXTURES / "sessions").glob("*.json")), ids=lambda path: path.stem)
def test_a_session_of_the_fixtures_is_a_session(path: Path) -> None:
    """W1.1: what vitest draws is what a kernel sends."""
    text = path.read_text(encoding="utf-8")
    assert SessionState.model_validate_json(text).model_dump(mode="json") == json.loads(text)


@pytest.mark.parametrize("sent", DECISIONS, ids=lambda sent: sent["form"])
def test_a_decision_that_a_form_sent_is_taken_by_the_kernel(sent: dict[str, Any], modules: dict[str, ModuleType]) -> None:
    """W2.9: a form filled in from nothing sends a request the wire takes, with a value the answer's type takes strictly (D4)."""
    request = request_adapter.validate_json(json.dumps(sent["request"]))
    assert isinstance(request.body, Submit)
    (decision,) = request.body.decisions
    assert isinstance(decision, Reply)
    modules["answer_types"].adapters()[sent["form"]].validate_json(json.dumps(decision.value), strict=True)


@pytest.mark.parametrize("line", read("python_lines.json"), ids=lambda line: line["python"][:30])
def test_what_a_card_copies_as_python_is_the_value_it_shows(line: dict[str, Any]) -> None:
    """W2.11: quotes, line ends, what is not seen, None, True and whole numbers come out the same, on one line."""
    assert "\n" not in line["python"]
    read_back = ast.literal_eval(line["python"])
    assert read_back == line["value"]
    assert json.dumps(read_back) == json.dumps(line["value"])


def test_every_hard_model_has_been_filled_in() -> None:
    """No model is left out of the round above but the one that the approval's tests edit."""
    assert {sent["form"] for sent in DECISIONS} == {path.stem for path in (FIXTURES / "forms").glob("*.json")} - {"deployment", "text"}


def test_the_check_above_would_notice_a_wrong_value(modules: dict[str, ModuleType]) -> None:
    """A string for a number is refused: the strictness is pydantic's, not ours."""
    with pytest.raises(ValidationError):
        modules["answer_types"].adapters()["number"].validate_json('"0"', strict=True)

"""The forms of all models of the corpus, in the real bundle and a real browser, against the real kernel's checks."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from ..forms.case import Case, missed, put
from ..forms.corpus import CORPUS
from ..forms.kernel import Kernel, decoded
from .driver import AXE
from .form_page import FormPage

CASES = list(CORPUS.values())


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel(CASES)
    yield made
    made.close()


@pytest.fixture(scope="module")
def answered(kernel: Kernel) -> Iterator[Kernel]:
    """The same sessions again, to be really answered."""
    made = Kernel(CASES)
    yield made
    made.close()


@pytest.fixture(scope="module")
def form(chromium: Browser) -> Iterator[FormPage]:
    """One page for all models."""
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    form = FormPage(page)
    yield form
    page.close()
    assert form.complaints == []


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def shown(form: FormPage, kernel: Kernel, case: Case) -> Any:
    """Show the case's card; the value that the form begins with."""
    document = kernel.document(case.name)
    form.show(document, case.sample)
    arguments = document["pending"][0]["arguments"]
    return case.sample if arguments is None else arguments


def value_in(request: Any) -> Any:
    (decision,) = request["body"]["decisions"]
    return decision["arguments"] if decision["decision"] == "edit" else decision["value"]


def same(value: Any, other: Any) -> bool:
    """Equal JSON. A browser has one kind of number and puts names that are numbers first; nothing else may differ."""
    return json.dumps(as_numbers(value), sort_keys=True) == json.dumps(as_numbers(other), sort_keys=True)


def test_untouched_it_arrives_equal(form: FormPage, answered: Kernel, case: Case):
    """W2.9: nothing is put in, left out, turned round or rewritten by being shown; and the session takes it (D4)."""
    began = shown(form, answered, case)
    request = form.submit()
    assert request is not None, form.root.inner_text()
    assert same(value_in(request), began)
    assert answered.handle(case.name, request)["kind"] == "done"


def test_each_edit_arrives_exactly_as_entered(form: FormPage, kernel: Kernel, case: Case):
    """W2.9: one edit per leaf, by keyboard and pointer, is after strict decoding what was meant; nothing else has changed."""
    shown(form, kernel, case)
    for edit in case.edits:
        for step in edit.steps:
            form.do(step)
    request = form.submit()
    assert request is not None, form.root.inner_text()
    value = value_in(request)
    assert same(value, case.edited)
    assert missed(case, decoded(case, value)) == []


def test_a_refused_value_is_shown_on_its_field(form: FormPage, kernel: Kernel, case: Case):
    """W2.7, W2.8: what the kernel refuses is said at the field, in its words; what the browser knows is said before it is sent."""
    began = shown(form, kernel, case)
    wrong = put(copy.deepcopy(began), case.refused.path, case.refused.value)
    for step in case.refused.steps:
        form.do(step)
    request = form.submit()
    if case.refused.here:
        assert request is None
        expect(form.faults(case.refused.at)).to_be_visible()
        request = kernel.submit(case.name, wrong)
        refusal = kernel.handle(case.name, request)
    else:
        assert request is not None, form.root.inner_text()
        assert same(value_in(request), wrong)
        refusal = kernel.handle(case.name, request)
        form.reply(refusal)
    assert refusal["kind"] == "refused"
    messages = [
        problem["message"]
        for problem in refusal["problems"]
        if problem["path"][problem["path"][:1] == ["arguments"] :] == list(case.refused.at)
    ]
    assert messages
    if not case.refused.here:
        expect(form.faults(case.refused.at)).to_contain_text(messages[0])
        assert form.is_invalid(case.refused.at)


def as_numbers(value: Any) -> Any:
    """JSON as JavaScript has it: 2.0 and 2 are one number."""
    if isinstance(value, dict):
        return {key: as_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def test_what_violates_the_schema_is_shown_as_it_is_and_arrives_as_it_was(form: FormPage, kernel: Kernel, case: Case):
    """W2.9: a value of the wrong type at one place, another for each model, is JSON there and nowhere else, and is sent as it is (W2.8)."""
    places = [place for place in nodes(case.sample) if place]
    began = as_arguments(kernel.document(case.name), case.sample)
    normal = form.show(as_question(kernel.document(case.name)), began).json_places()
    place = random.Random(case.name).choice(places or [()])
    value = put(copy.deepcopy(began), place, swapped(at_json(began, place)))
    form.show(as_question(kernel.document(case.name)), value)
    here = [found for found in form.json_places() if found == place[: len(found)]]
    assert here or form.shows_text(place, at_json(value, place)), f"{place} is not shown as it is"
    for found in here:
        assert same(json.loads(form.at(found).input_value()), at_json(value, found))
    assert {*form.json_places()} <= {*normal, *here}
    request = form.submit()
    if request is None:
        form.press("send-anyway")
        (request,) = form.sent()
    assert same(value_in(request), value)


def as_question(document: Any) -> Any:
    """The same form as a tool's question, whose answer may be sent although it does not fit (W2.8)."""
    (card,) = document["pending"]
    schema = card["arguments_schema"] or card["answer_schema"]
    document["pending"] = [card | {"kind": "QUESTION", "lenient": True, "arguments": None, "answer_schema": schema, "question": "?"}]
    return document


def as_arguments(document: Any, sample: Any) -> Any:
    arguments = document["pending"][0]["arguments"]
    return sample if arguments is None else arguments


def nodes(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from nodes(item, (*place, step))


def at_json(value: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        value = value[step]
    return value


def swapped(value: Any) -> Any:
    """A value of another type."""
    match value:
        case None:
            return {"x": 1}
        case bool():
            return "no"
        case str():
            return 5
        case int() | float():
            return "PT5M"
        case list():
            return "x"
        case _:
            return [1]


def test_a_text_in_place_of_an_empty_default_arrives_and_arrives_once(form: FormPage):
    """F16: "Ana" for a default of "": the value arrives, nothing waits any more, the same again is refused."""
    case = CORPUS["optionals"]
    kernel = Kernel([case])
    shown(form, kernel, case)
    form.write(("empty",), "Ana")
    request = form.submit()
    assert value_in(request)["empty"] == "Ana"
    assert kernel.handle(case.name, request)["kind"] == "done"
    assert kernel.document(case.name)["pending"] == []
    again = kernel.handle(case.name, request | {"request_id": "again"})
    kernel.close()
    assert again["kind"] == "refused"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_forms(chromium: Browser, kernel: Kernel, dark: bool):
    """W5.5, W5.6: forms of every kind of control, with a problem on a field, in both themes and as narrow as it gets."""
    page = chromium.new_page(viewport={"width": 360, "height": 900})
    form = FormPage(page, width=320, dark=dark)
    page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
    for name in ("optionals", "owner", "dicts", "hard_names", "countries", "extras", "login", "bounds_in_the_browser"):
        shown(form, kernel, CORPUS[name])
        for step in CORPUS[name].refused.steps:
            form.do(step)
        form.submit()
        found = page.evaluate("async () => (await axe.run('.llm4s-form', { resultTypes: ['violations'] })).violations")
        assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == [], name
    page.close()

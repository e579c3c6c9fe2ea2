"""Which texts are taken, and how what is no text is refused (T1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas
import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.review import TextSession

from .support import PROMISES, checked


def told(texts: Any) -> list[tuple[Any, str]]:
    """Ids and texts as the review has them."""
    return [(row["id"], row["text"]) for row in TextSession(texts, [PROMISES]).to_records()]


def some() -> Iterator[str]:
    yield "a"
    yield "b"


@pytest.mark.parametrize("texts", [["a", "b"], ("a", "b"), some(), {0: "a", 1: "b"}, [(0, "a"), (1, "b")], pandas.Series(["a", "b"])])
def test_texts_come_in_any_collection(texts: Any) -> None:
    """T1.1: list, tuple, generator, mapping, pairs, Series."""
    assert told(texts) == [(0, "a"), (1, "b")]


def test_ids_are_kept_and_pairs_may_stand_beside_plain_texts() -> None:
    """T1.1: a text without an id has its place as one."""
    assert told([("x", "a"), "b", ((1, 2), "c")]) == [("x", "a"), (1, "b"), ((1, 2), "c")]
    assert told(pandas.Series({"k": "a", "m": "b"})) == [("k", "a"), ("m", "b")]
    assert told("alone") == [(0, "alone")]


async def test_no_texts_are_fine() -> None:
    """T1.1: an empty list is checked, has nothing to decide, and can be shown and exported."""
    session = await checked([])
    assert (len(session), session.refusals, session.left, session.verdicts, session.to_records()) == (0, [], 0, {}, [])
    assert session.state().total == 0
    assert list(session.to_dataframe().index) == []


@pytest.mark.parametrize(
    ("texts", "where"),
    [
        (["a", None, "b", 3], "position 1 is NoneType, not a text: None"),
        ({"x": "a", "y": 2.5}, "position 1 (id 'y') is float, not a text: 2.5"),
        (pandas.Series(["a", None], index=["k", "m"]), "position 1 (id 'm') is float, not a text: nan"),
        ([("x", b"bytes")], "position 0 (id 'x') is bytes"),
        ([(pandas.NA, "a"), (pandas.NA, 1)], "position 1 (id <NA>) is int"),
        ([(["no", "id"], "a")], "position 0 (id ['no', 'id']) has an id that cannot be looked up: list"),
        (3, "int is no collection of texts"),
        (pandas.DataFrame({"answer": ["a"]}), 'give one of them, such as frame["answer"]'),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(texts: Any, where: str) -> None:
    """T1.1: nothing runs."""
    with pytest.raises(ConfigError) as refused:
        TextSession(texts, [PROMISES])
    assert refused.value.field == "texts"
    assert where in refused.value.what


def test_of_many_faults_the_first_are_named_and_the_rest_is_counted() -> None:
    """T1.1: a wrong column of ten thousand does not print ten thousand lines."""
    with pytest.raises(ConfigError) as refused:
        TextSession([1] * 10_000, [PROMISES])
    assert len(refused.value.problems) == 6
    assert refused.value.problems[-1] == "and 9995 more"


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"guardrails": ["no guardrail"]}, "guardrails"),
        ({"phase": "output"}, "phase"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": True}, "concurrency"),
        ({"decisions": "verdicts.jsonl"}, "decisions"),
        ({"principal": 5}, "principal"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, Any], field: str) -> None:
    """Each names the field and what is wanted."""
    with pytest.raises(ConfigError) as refused:
        TextSession(["a"], **{"guardrails": [PROMISES], **settings})
    assert refused.value.field == field

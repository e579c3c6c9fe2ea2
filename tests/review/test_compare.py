"""Two agents on the same queries, side by side (M5)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, Completed, NeedsApproval, PendingReview, Suspended, ToolContext, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.errors import ConfigError, DecisionMismatch, ModelFailed
from llm4s_notebook.graph import Answer
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Comparison, DecisionLog, Session, compare
from ticking import Ticking


@tool
async def deploy(version: str, context: ToolContext) -> str | NeedsApproval:
    """Deploy a version."""
    return f"{version} is live" if context.approved else NeedsApproval("it is dangerous")


def agent_of(*steps: Any, id: str = "assistant", **settings: Any) -> Agent:
    return Agent(id, ScriptedClient(*steps), tools=[deploy], runtime=InMemoryCheckpointer(), **settings)


CALLING = calls(ToolCall("c1", "deploy", {"version": "1.4.0"}))


async def test_each_query_is_run_on_both_and_shown_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """M5.1, M5.2: a before b; usage and times of the model calls of each."""
    monkeypatch.setattr("llm4s_notebook.agent._model_step.perf_counter", Ticking())
    a = agent_of("short", "yes")
    b = a.with_(system_prompt="Be long.", client=ScriptedClient("a long answer", "yes, of course"), stream=True)
    made = await compare(a, b, ["Why?", "Really?"])
    assert [[(turn.side, turn.query, turn.status) for turn in pair] for pair in made.pairs] == [
        [("a", query, "Completed"), ("b", query, "Completed")] for query in ("Why?", "Really?")
    ]
    assert [(row["answer"], row["model_calls"], row["input_tokens"], row["output_tokens"]) for row in made.to_records()] == [
        ("short", 1, 10, 20),
        ("a long answer", 1, 10, 20),
        ("yes", 1, 10, 20),
        ("yes, of course", 1, 10, 20),
    ]
    assert [(row["seconds"], row["first_token"]) for row in made.to_records()] == [(1.0, None), (2.0, 1.0)] * 2
    assert len({row["thread_id"] for row in made.to_records()}) == 4


@pytest.mark.parametrize("given", ["a function", "a dict", "an iterator"])
async def test_the_same_answers_serve_every_turn(given: str) -> None:
    """M5.1: also those that can be read only once."""

    def approve(pending: PendingReview) -> Answer:
        return pending.approve()

    a, b = agent_of(CALLING, "a done", CALLING, "a again"), agent_of(CALLING, "b done", CALLING, "b again")
    waiting = await agent_of(CALLING).run("go")
    answer = waiting.pending[0].approve()
    answers: Any = {"a function": approve, "a dict": {answer.id: answer.value}, "an iterator": iter([answer])}[given]
    assert answer.id == "2.0"  # that of the first call on any new thread (1.1.6)
    made = await compare(a, b, ["go", "once more"], answers=answers)
    assert [row["answer"] for row in made.to_records()] == ["a done", "b done", "a again", "b again"]


async def test_a_turn_that_waits_or_fails_does_not_end_the_others() -> None:
    """M5.1: what waits is shown as it waits, an error as itself."""
    a, b = agent_of(CALLING, ConnectionError("line <cut>"), "fine"), agent_of("one", "two", "three")
    made = await compare(a, b, ["first", "second", "third"])
    assert [row["status"] for row in made.to_records()] == ["Suspended", "Completed", "Failed", "Completed", "Completed", "Completed"]
    waiting, failed = made.pairs[0][0], made.pairs[1][0]
    assert waiting.result is not None
    assert isinstance(waiting.result.status, Suspended)
    assert isinstance(failed.error, ModelFailed)
    assert "line <cut>" in made.to_records()[2]["error"]
    shown = made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "line &lt;cut&gt;" in shown
    assert "approval of deploy" in shown
    assert "line <cut>" in str(made)
    assert repr(made) == str(made)


async def test_what_stands_in_the_head_of_a_turn_is_not_said_again_below_it() -> None:
    """M5.2: the query once for both, tokens once for each, and of a turn only our own words are set bold."""
    made = await compare(agent_of(CALLING, "it runs"), agent_of("two <i>lines"), "Release <it>.", answers=lambda one: one.approve())
    shown = made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert shown.count("Release &lt;it&gt;.") == 1
    assert (shown.count("20 + 40 tokens"), shown.count("10 + 20 tokens"), shown.count("2 model calls")) == (1, 1, 1)
    assert [" ".join(re.sub("<.*?>", "", bold).split()) for bold in re.findall("<strong>(.*?)</strong>", shown)] == [
        *("a: assistant", "Completed:", "b: assistant", "Completed:")
    ]
    assert "1.4.0 is live" in shown
    assert [turn.thread_id in shown for pair in made.pairs for turn in pair] == [True, True]
    assert "overflow-x:auto" in shown


async def test_what_was_written_is_shown_and_not_run() -> None:
    """M5.2, W5.7."""
    made = await compare(agent_of("<script>alert(1)</script>"), agent_of("<b>x</b>"), "<i>why</i>")
    shown = made._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert [tag for tag in ("<script>", "<b>", "<i>") if tag in shown] == []
    assert [text for text in ("&lt;script&gt;", "&lt;b&gt;x", "&lt;i&gt;why") if text not in shown] == []


async def test_what_is_not_seen_of_queries_and_errors_is_named() -> None:
    """M5.2, W5.7: as in the turns below them; an escape would steer the terminal."""
    made = await compare(agent_of(ConnectionError("cut\x1b[31m")), agent_of("two"), "ab\u202ecd")
    for shown in (made._repr_html_(), str(made)):  # pyright: ignore[reportPrivateUsage]
        assert [one for one in ("\x1b", "\u202e") if one in shown] == []
        assert "U+202E" in shown
        assert "U+001B" in shown


async def test_the_rows_make_a_dataframe(monkeypatch: pytest.MonkeyPatch) -> None:
    """M5.2: with pandas where it is, and a word on how to go on where it is not."""
    made = await compare(agent_of("one"), agent_of("two"), ["go"])
    frame = SimpleNamespace(DataFrame=lambda rows, columns: (rows, columns))
    monkeypatch.setitem(sys.modules, "pandas", frame)  # pyright: ignore[reportArgumentType]  # what compare asks of it
    assert made.to_dataframe() == (made.to_records(), list(made.to_records()[0]))
    monkeypatch.setitem(sys.modules, "pandas", None)  # pyright: ignore[reportArgumentType]  # what an import takes for missing
    with pytest.raises(ConfigError, match="pip install pandas"):
        made.to_dataframe()


async def test_recorded_decisions_serve_both_agents(tmp_path: Path) -> None:
    """M5.1, L3.1: the turn that was recorded with the same query; an agent that shows something else ends with that error."""
    log = DecisionLog(tmp_path / "log.jsonl")
    session = Session(agent_of(CALLING, "done"), "t", decisions=log)
    await session.run("Release it.")
    await session.answer([session.result.approve(session.result.pending[0].id)])
    other = calls(ToolCall("c1", "deploy", {"version": "9.9.9"}))
    made = await compare(agent_of(CALLING, "one"), agent_of(other, "two"), "Release it.", answers=log)
    [(a, b)] = made.pairs
    assert a.result is not None
    assert (a.status, a.result.status) == ("Completed", Completed("one"))
    assert isinstance(b.error, DecisionMismatch)
    assert "9.9.9" in str(b.error)


@pytest.mark.parametrize(
    ("queries", "says"),
    [
        ([], "there is no query"),
        (["ok", " "], "query 2"),
        ([None], "query 1"),
        ("", "query 1"),
        (None, "queries are a list of texts, not NoneType"),
    ],
)
async def test_queries_that_cannot_be_run_are_refused_before_a_model_is_called(queries: Any, says: str) -> None:
    """M5.1, D2."""
    client = ScriptedClient("x")
    with pytest.raises(ConfigError, match=says):
        await compare(Agent("a", client), Agent("b", client), queries)
    assert client.requests == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"answers": 5}, "answers are a mapping or Answer objects, not int"),
        ({"answers": "log.jsonl"}, r"answers=DecisionLog\('log\.jsonl'\)"),
        ({"config": 5}, "a RunConfig is wanted, not int"),
    ],
)
async def test_what_is_no_answer_is_refused_before_a_model_is_called(given: dict[str, Any], says: str) -> None:
    """M5.1: not told as the failure of every turn."""
    client = ScriptedClient("x")
    with pytest.raises(ConfigError, match=says):
        await compare(Agent("a", client), Agent("b", client), ["go"], **given)
    assert client.requests == []


async def test_only_agents_are_compared() -> None:
    """M5.1."""
    wrong: Any = ScriptedClient("x")
    with pytest.raises(ConfigError, match="b is no Agent but ScriptedClient"):
        await compare(agent_of("x"), wrong, ["go"])


async def test_one_query_may_be_given_as_a_text() -> None:
    """M5.1."""
    made = await compare(agent_of("one"), agent_of("two"), "go")
    assert isinstance(made, Comparison)
    [(a, b)] = made.pairs
    assert (a.result and a.result.status, b.result and b.result.status) == (Completed("one"), Completed("two"))

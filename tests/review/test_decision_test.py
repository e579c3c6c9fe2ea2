"""A decision log copied as a test: docs/specification/decision-log.md L4.2."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook import DecisionLog, Session
from llm4s_notebook.agent import Answer
from llm4s_notebook.errors import ConfigError

from .asking_graph import asking
from .turns import Shop, deployments

AGENTS = """
from tests.review.asking_graph import asking
from tests.review.turns import Shop, deployments

FIRST = [deployments("1.0"), "one"]

def make_same():
    return Shop().agent(*FIRST, deployments("2.0", "3.0"), "two")

def make_changed():
    return Shop().agent(*FIRST, deployments("2.0", "3.1"), "two")

def make_more():
    return Shop().agent(*FIRST, deployments("2.0", "3.0"), deployments("4.0"), "two")

def make_fewer():
    return Shop().agent(*FIRST, "two")

def make_other_end():
    return Shop().agent(*FIRST, deployments("2.0", "3.0"), "zwei")

class Agents:
    once = make_same()

graph, _ = asking()
"""


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "decisions.jsonl")


async def two_turns(log: DecisionLog, thread_id: str = "t") -> Session:
    session = Session(Shop().agent(deployments("1.0"), "one", deployments("2.0", "3.0"), "two"), thread_id, principal="ana", decisions=log)
    await session.run("first")
    await session.answer(Answer.approve("2.0"))
    await session.run("second")
    first, second = session.result.pending
    await session.answer(second.reject("no"))
    await session.answer(first.edit({"environment": "staging", "version": "2.1"}))
    assert session.result.answer == "two"
    return session


def played(folder: Path, sources: dict[str, str]) -> tuple[int, str]:
    """Run each source as a file of its own; exit code and what pytest printed."""
    (folder / "my_agents.py").write_text(AGENTS, encoding="utf-8")
    for name, source in sources.items():
        (folder / f"test_{name}.py").write_text(source, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(Path(__file__).parents[2])])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"test_{name}.py" for name in sources)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_file_passes_as_it_stands(log: DecisionLog, tmp_path: Path):
    """L4.2: on an agent made by a function, on one that is an attribute, on a graph by hand; nothing else is needed beside it."""

    async def sources() -> dict[str, str]:
        done = (await two_turns(log)).result
        graphs = DecisionLog(tmp_path / "graphs.jsonl")
        session = Session(asking()[0], "g", decisions=graphs)
        await session.run("apples")
        await session.answer(Answer.reply(session.result.interrupts[0].id, 3))
        return {
            "same": log.to_test("my_agents:make_same()", result=done),
            "attribute": log.to_test("my_agents:Agents.once"),
            "graph": graphs.to_test("my_agents:graph", result=session.result),
        }

    made = asyncio.run(sources())
    assert "result.output == ['how many apples?']" in made["graph"]
    log.path.unlink()
    code, printed = played(tmp_path, made)
    assert (code, "3 passed" in printed) == (0, True), printed


def test_the_file_fails_readably(log: DecisionLog, tmp_path: Path):
    """L4.2: with a changed argument, with more or less asked, with another end."""

    async def sources() -> dict[str, str]:
        done = (await two_turns(log)).result
        return {how: log.to_test(f"my_agents:make_{how}()", result=done) for how in ("changed", "more", "fewer", "other_end")}

    code, printed = played(tmp_path, asyncio.run(sources()))
    assert (code, "4 failed" in printed) == (1, True), printed
    for said in (
        "DecisionMismatch: the recorded decision was made on something else: arguments.version was '3.0', is '3.1'",
        "PendingInterrupts: the turn waits for 1 answer: PendingReview(APPROVAL ",
        "UnusedDecisions: the turn on thread 'replay-",
        "AssertionError: assert 'zwei' == 'two'",
    ):
        assert said in printed


@pytest.mark.parametrize(
    "odd", ['"""\nimport os; os.abort()\n"""', "a'b\"c\\", "{x}{0}%s", "\u202eabc\u200b", "half \ud83d", "é\r\n\x00", "線"], ids=ascii
)
def test_no_text_gets_out_of_its_quotes(odd: str, log: DecisionLog):
    """L4.2: thread ids, queries and arguments are data; the source is plain to read and compiles."""
    log.record(thread_id=odd, interrupt_id="1.0", kind="QUESTION", shown=odd, answered=odd, who=odd, seconds=None)
    made = log.to_test("m:a", query={"x": odd})
    assert all(one.isprintable() or one == "\n" for one in made)
    values: dict[str, Any] = {}
    head, _, rest = made.partition("QUERIES")
    exec("from typing import Any\nQUERIES" + rest.partition("\n\n\n")[0], values)
    assert values["QUERIES"] == [{"x": odd}]
    assert [line.encode() for line in values["DECISIONS"]] == [record.line() for record in log.records()]
    assert str(compile(made, "test_generated.py", "exec").co_consts[0]).startswith("Replays 1 decision on thread")
    assert '"""' in head


@pytest.mark.parametrize(
    "agent", ["", "agent", "my-module:agent", "m:", ":a", "m:a(1)", "m:a()()", "m:a\n", "m:import os;a", "os;x:a", "m:def", "class:a", 5]
)
def test_an_agent_that_cannot_be_named_is_refused(agent: Any, log: DecisionLog):
    """L4.2."""
    asyncio.run(two_turns(log))
    with pytest.raises(ConfigError, match="is not of the form 'module:name'"):
        log.to_test(agent)


def test_what_is_missing_is_said(log: DecisionLog):
    """L4.2: the query, one thread, a result of a turn, any decisions."""
    log.record(thread_id="t", interrupt_id="1.0", kind="BREAKPOINT", shown={"node": "n"}, answered=None, who=None, seconds=None)
    with pytest.raises(ConfigError, match=r"the log does not say what thread 't', 1 decision from .* was asked; give query="):
        log.to_test("m:a")
    assert "'ship'," in log.to_test("m:a", query="ship")
    with pytest.raises(ConfigError, match="a turn's result is wanted, not int"):
        log.to_test("m:a", query="ship", result=5)
    with pytest.raises(ConfigError, match="only plain JSON can be written into a test"):
        log.to_test("m:a", query={1})
    log.record(thread_id="u", interrupt_id="1.0", kind="BREAKPOINT", shown={"node": "n"}, answered=None, who=None, seconds=None)
    with pytest.raises(ConfigError, match=r"has the decisions of 2 turns, and a test is of one thread: \[0\] thread 't'"):
        log.to_test("m:a", query="ship")
    assert "on thread 'u'" in log.to_test("m:a", thread_id="u", query="ship")
    empty = DecisionLog(log.path.with_name("empty.jsonl"))
    empty.record(thread_id="t", interrupt_id="1", kind="text", shown="x", answered={"verdict": "allow"}, who=None, seconds=None)
    with pytest.raises(ConfigError, match="has no decisions on anything that waited"):
        empty.to_test("m:a")

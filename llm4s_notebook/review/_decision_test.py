"""Recorded decisions as the source of a test (L4.2). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from keyword import iskeyword
from typing import Any, cast

from ..agent import AgentResult
from ..errors import ConfigError, EncodeError
from ..graph import Completed
from ..models import Json, ToolMessage, freeze, thaw
from ._recorded_turn import RecordedTurn

_AGENT = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\(\))?")

_TEMPLATE = '''\
"""{title}

Made from a decision log by `DecisionLog.to_test`. It fails where a person is shown something else than was decided on,
where more or less is asked, and where the turn ends in another way.
"""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

import {module}
from llm4s_notebook import DecisionLog, review
from llm4s_notebook.review import UnusedDecisions

QUERIES: list[Any] = [
{queries}
]
DECISIONS = [
{decisions}
]


async def replay(log: DecisionLog) -> Any:
    target = {target}
    thread_id, result = f"replay-{{uuid4().hex}}", None
    for turn, query in enumerate(QUERIES):
        result = await review(target, query, thread_id=thread_id, answers=log.of(turn=turn), again=True)
    return result


def {test_name}(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text("".join(f"{{line}}\\n" for line in DECISIONS), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedDecisions)
        result = asyncio.run(replay(DecisionLog(path)))
{asserts}
'''


def source_of_test(agent: str, turns: Sequence[RecordedTurn], *, query: Any, result: Any) -> str:
    """A whole pytest file. `agent` is "module:name", with "()" behind it for a function that makes the agent.

    Raises: ConfigError for another text as `agent`, for a turn whose query is not known, for a decision that held a secret.
    """
    named = _AGENT.fullmatch(agent) if isinstance(agent, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
    if named is not None and any(map(iskeyword, re.split(r"[.:()]", agent))):
        named = None
    problems = [] if named else [f"{agent!r} is not of the form 'module:name' or 'module:name()'"]
    queries = [turn.query if turn.query is not None else query for turn in turns]
    if query is not None and queries and len(turns) == 1:
        queries = [query]
    problems += [
        f"the log does not say what {turn} was asked; give query=" for turn, asked in zip(turns, queries, strict=True) if asked is None
    ]
    problems += [
        f"the decision on '{record.interrupt_id}' in {turn} held a secret, which no log and no test holds"
        for turn in turns
        for record in turn.records
        if record.secrets
    ]
    if named is None or problems:
        raise ConfigError(field="to_test", problems=problems)
    first = turns[0].records[0]
    count = sum(len(turn.records) for turn in turns)
    by = f" by {first.who}" if first.who else ""
    return _TEMPLATE.format(
        title=_in_a_docstring(
            f"Replays {count} decision{'s' if count != 1 else ''} on thread '{first.thread_id}', made from {first.at:%Y-%m-%d} on{by}."
        ),
        module=named["module"],
        target=f"{named['module']}.{named['name']}{named['call'] or ''}",
        queries=_lines(_literal(query, "query") for query in queries),
        decisions=_lines(repr(record.line().decode()) for turn in turns for record in turn.records),
        test_name=f"test_the_decisions_on_{_slug(turns[0].thread_id)}",
        asserts="\n".join(f"    assert {line}" for line in _outcome(result)),
    )


def _outcome(result: Any) -> list[str]:
    match result:
        case None:
            return ["result is not None"]
        case AgentResult():
            said = [message.content for message in result.messages if isinstance(message, ToolMessage)]
            return [
                f"type(result.status).__name__ == {type(result.status).__name__!r}",
                f"result.answer == {result.answer!r}",
                f'[message.content for message in result.messages if message.role == "tool"] == {said!r}',
            ]
        case Completed():
            return [f"result.output == {_literal(cast(Any, result).output, 'result')}"]
        case _:
            raise ConfigError(field="result", problems=[f"a turn's result is wanted, not {type(result).__name__}"])


def _literal(value: Json, name: str) -> str:
    try:
        return repr(thaw(freeze(value)))
    except EncodeError as error:
        raise ConfigError(field=name, problems=[f"only plain JSON can be written into a test: {'; '.join(error.problems)}"]) from error


def _lines(items: Any) -> str:
    return "\n".join(f"    {item}," for item in items)


def _in_a_docstring(text: str) -> str:
    return json.dumps(text)[1:-1].replace('\\"', "'").replace('"', "'")


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower() or "a_thread"

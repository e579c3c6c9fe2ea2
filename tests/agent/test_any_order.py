"""However a person's decisions come in, a turn ends as if all had been given at once (2.4, 4.5)."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from llm4s_notebook.agent import _call as call_module
from llm4s_notebook.agent import _compile as compiled
from llm4s_notebook.agent._call import CallWork
from llm4s_notebook.agent._messages import MESSAGES, TOOL_RESULTS, AppendMessages
from llm4s_notebook.graph import Command

from .playing import check, compare, deaths, picks, played_at_once, played_in_a_file, plays
from .plays import Play, Some


@pytest.mark.parametrize("third", range(3))  # so that each ends in time where the machine is busy
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks)
def test_any_order_ends_the_turn_as_if_all_had_been_answered_at_once(third: int, play: Play, picks: list[int]) -> None:
    """2.4.2, 2.4.3, 4.5.1, F11: messages, status, usage, questions asked, requests sent and calls run."""
    check(play, picks, [])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(play=plays(), picks=picks)
def test_every_step_may_be_made_by_objects_of_its_own_over_one_file(play: Play, picks: list[int]) -> None:
    """2.4.7, 4.5.2: what a step needs to go on is in the file, kept answers included."""
    usual, at_once = asyncio.run(played_at_once(play))
    with tempfile.TemporaryDirectory() as folder:
        found, notes = asyncio.run(played_in_a_file(play, Some(picks), Path(folder)))
    assert found == usual
    compare(at_once, notes, [])


# -- the proof that it can fail --------------------------------------------------------------------------------------


def _in_order_of_arrival(nodes: Any, state: Any, context: Any) -> Command:
    """Results in the order in which they were recorded, which is that of the answers."""
    stored = tuple(replace(one.message, id=f"{context.task_id}/tool/{one.message.tool_call_id}") for one in state[TOOL_RESULTS])
    return Command().update(MESSAGES, AppendMessages(stored)).remove(TOOL_RESULTS).goto(nodes.model)


def _forgetting(step: Any) -> Any:
    async def with_the_last_answer_only(*given: Any) -> Any:
        return await step(*[one[-1:] if isinstance(one, tuple) else one for one in given])

    return with_the_last_answer_only


def _unapproved(call: Any, message_id: str, _kept: bool = False, answers: Any = (), *, approved: bool = False, **more: Any) -> CallWork:
    """An approval that does not outlive a question: only the one just given counts."""
    return CallWork(call, message_id, approved, answers, **more)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "answers applied in order of arrival": (compiled, "collect", _in_order_of_arrival),
    "the answer before the last forgotten": (compiled, "call_model", _forgetting(compiled.call_model)),
    "an approval forgotten over a question": (compiled, "CallWork", _unapproved),
    "a key of its own for every attempt": (call_module, "idempotency_key", lambda *_: uuid4().hex),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The property can fail: each of these has been a plausible mistake."""
    monkeypatch.setattr(*FAULTS[fault])

    @settings(max_examples=200, deadline=None, database=None, phases=[Phase.generate], report_multiple_bugs=False)
    @seed(20)
    @given(play=plays(), picks=picks, deaths=deaths)
    def look(play: Play, picks: list[int], deaths: list[int]) -> None:
        check(play, picks, deaths)

    with pytest.raises(AssertionError):
        look()

"""What a turn has done, reduced from its events."""

from __future__ import annotations

from datetime import UTC, datetime

from llm4s_notebook.graph.events import (
    CheckpointCommitted,
    EventRecord,
    Progress,
    RunEvent,
    RunResumed,
    RunStarted,
    RunSuspended,
    TaskCompleted,
    TaskFailed,
    TaskSuspended,
)
from llm4s_notebook.review._answered import AnsweredLog
from llm4s_notebook.review._trace import Trace

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def record(sequence: int | None, event: RunEvent, task: str | None = None, node: str | None = None) -> EventRecord:
    return EventRecord("t", sequence, "r", None, task, node, NOW, event)


def looped() -> list[EventRecord]:
    """model, then two calls, then the model again."""
    return [
        record(1, RunStarted()),
        record(2, TaskCompleted(), "0.0", "input"),
        record(3, CheckpointCommitted(0)),
        record(4, TaskCompleted(), "1.0", "model"),
        record(5, CheckpointCommitted(1)),
        record(None, Progress("x", 1, None), "2.0", "call"),
    ]


def test_an_edge_is_taken_when_its_target_runs_in_a_later_superstep():
    """W3.3, W4.3: superstep, done and failed nodes, the route of this turn."""
    trace = Trace()
    trace.see(looped())
    assert trace.superstep == 1
    assert trace.done == {"input", "model"}
    assert trace.followed == trace.straight == {("input", "model")}
    trace.see([record(6, TaskCompleted(), "2.0", "call"), record(7, TaskFailed("no"), "2.1", "call")])
    assert trace.followed == {("input", "model"), ("input", "call"), ("model", "call")}
    assert trace.straight == {("input", "model"), ("model", "call")}  # input ran earlier, and model between them
    assert trace.failed == {"call"}


def test_a_superstep_in_which_nothing_ran_stands_between_no_two_nodes():
    """W3.3: a node that was held before it ran comes straight from the one before the hold; a failed one was reached."""
    trace = Trace()
    held = [record(6, RunSuspended(("2.0",))), record(7, RunResumed(("2.0",), "ana")), record(8, CheckpointCommitted(2))]
    trace.see([*looped(), *held, record(9, TaskFailed("no"), "2.0", "call")])
    assert ("model", "call") in trace.straight


def test_events_seen_twice_change_nothing():
    """W1.3: a live stream and a reading of the log overlap."""
    trace = Trace()
    trace.see(looped())
    trace.see([record(4, TaskCompleted(), "1.0", "model"), record(5, CheckpointCommitted(1)), record(3, CheckpointCommitted(0))])
    assert trace.superstep == 1


def test_a_new_turn_forgets_the_route_of_the_last():
    """W3.3: the route taken in this turn."""
    trace = Trace()
    trace.see([*looped(), record(6, TaskCompleted(), "2.0", "call"), record(7, RunStarted())])
    assert trace.followed == frozenset()
    assert trace.done == set()


def test_answers_and_waiting_times_are_read_from_the_log():
    """F41, W2.1: when and by whom, and since when."""
    log = AnsweredLog()
    log.will_answer({"2.0": "approved deploy"})
    log.see(
        [
            record(1, RunStarted()),
            record(2, TaskSuspended("2.0"), "2.0", "call"),
            record(3, RunSuspended(("2.0", "2.1"))),
            record(4, RunResumed(("2.0",), "ana")),
        ]
    )
    assert log.since("2.0") == log.since("2.1") == NOW
    (answered,) = log.of_turn()
    assert (answered.id, answered.by, answered.summary, answered.at) == ("2.0", "ana", "approved deploy", NOW)
    log.see([record(5, RunStarted())])
    assert log.of_turn() == ()
    assert log.get("2.0") is not None


def test_an_edge_is_taken_when_its_target_asks_although_it_has_not_completed():
    """W3.3: a call that waits for its approval was reached, so the way to it is drawn as taken; it is not done."""
    trace = Trace()
    trace.see([*looped(), record(6, TaskSuspended("2.0"), "2.0", "call")])
    assert ("model", "call") in trace.followed
    assert "call" not in trace.done

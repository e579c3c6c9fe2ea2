"""The reducer of live events, event by event (W4.7): what it cannot know it does not make up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import to_builtins

from llm4s_notebook.agent import events as told
from llm4s_notebook.checkpoint import EventRecord
from llm4s_notebook.graph.events import Gap, Progress, TaskCompleted, TaskSuspended
from llm4s_notebook.review._live import Live

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def see(live: Live, *events: Any, task: str = "2.0") -> list[bool]:
    """Whether each event wants a whole document."""
    made = [Progress(event.name, 1, to_builtins(event)) if isinstance(event, told.AgentEvent) else event for event in events]
    return [live.see(EventRecord("t", None, "r", "c", task, "support/model", NOW, event), NOW) for event in made]


def drawn(live: Live) -> list[tuple[str, str]]:
    live.take()
    return [(message.text, message.note or "") for message in live.view().messages]


STARTED, ENDED = told.ModelCallStarted("support", 1), told.ModelCallEnded("support", 1, failed=False)


def test_only_what_is_new_wants_a_document_and_what_follows_is_a_piece() -> None:
    """W4.7: the first word, a new call and the first word of another attempt; nothing else."""
    live = Live()
    call = told.ToolCallDelta(1, 0, "c1", "look_up", "{}")
    assert see(live, STARTED, told.TextDelta(1, "a"), told.TextDelta(1, "b"), call, call) == [False, True, False, True, False]
    assert see(live, told.ModelCallWaits("support", 2, 1.0, "server"), told.ModelCallStarted("support", 2)) == [False, False]
    assert see(live, told.TextDelta(2, "c"), told.ModelCallEnded("support", 2, failed=False)) == [True, False]
    assert drawn(live) == [("c", "not stored yet")]


def test_what_was_not_sent_yet_is_in_no_view_so_that_the_next_piece_does_not_double_it() -> None:
    """W4.7."""
    live = Live()
    see(live, STARTED, told.TextDelta(1, "one "))
    live.take()
    see(live, told.TextDelta(1, "two "))
    before = live.view()
    pieces = live.take()
    assert before.messages[0].text == "one "
    assert pieces is not None
    assert (pieces.number, pieces.pieces[0].text) == (before.number + 1, "two ")
    assert live.take() is None


def test_pieces_of_an_attempt_that_is_over_are_void() -> None:
    """W4.7, agent.md 8.10."""
    live = Live()
    see(live, STARTED, told.ModelCallStarted("support", 2), told.TextDelta(1, "late"), told.TextDelta(2, "right"))
    assert drawn(live) == [("right", "writing …")]
    see(live, told.ModelCallEnded("support", 2, failed=False), told.TextDelta(2, " too late"), ENDED)
    assert drawn(live) == [("right", "not stored yet")]


def test_an_attempt_whose_beginning_was_missed_does_not_go_on_with_the_text_of_the_one_before() -> None:
    """W4.7, R7.8."""
    live = Live()
    see(live, STARTED, told.TextDelta(1, "first"), Gap(3), told.TextDelta(2, "second"))
    assert drawn(live) == [("second", "writing …, parts of it were missed here")]


def test_an_attempt_of_which_nothing_was_missed_does_not_say_so() -> None:
    """W4.7, R7.8: what is said of a text is of this text, whatever was missed of the one before."""
    live = Live()
    see(live, STARTED, told.TextDelta(1, "fir"), Gap(3), told.ModelCallStarted("support", 2), told.TextDelta(2, "second"))
    assert drawn(live) == [("second", "writing …")]
    see(live, told.TextDelta(3, "ird"))
    assert drawn(live) == [("ird", "writing …, parts of it were missed here")]


def test_a_message_whose_beginning_was_missed_says_so() -> None:
    """W4.7, R7.8."""
    live = Live()
    assert see(live, Gap(1000), told.TextDelta(1, "the end of it")) == [False, True]
    assert drawn(live) == [("the end of it", "writing …, parts of it were missed here")]


def test_a_step_that_has_ended_is_waited_for_no_more_where_the_end_of_its_call_was_missed() -> None:
    """W4.8: the line does not say that cancel is safe while a tool takes its time."""
    live = Live()
    see(live, STARTED, told.TextDelta(1, "I look."), TaskCompleted(), Gap(3))
    assert not live.tick(NOW + timedelta(seconds=60))
    assert live.view().waiting is None
    assert drawn(live) == [("I look.", "not stored yet, parts of it were missed here")]


def test_a_step_that_parks_with_a_question_leaves_nothing_behind() -> None:
    """W4.7, agent.md 8.6: nothing of its text is stored."""
    live = Live()
    see(live, STARTED, told.TextDelta(1, "half"), ENDED)
    assert see(live, TaskSuspended("2.0")) == [True]
    assert drawn(live) == []


def test_two_steps_at_once_keep_their_texts_apart() -> None:
    """W4.7: the key is the task."""
    live = Live()
    for task in ("2.0", "2.1"):
        see(live, STARTED, told.TextDelta(1, f"of {task}"), task=task)
    live.take()
    see(live, told.TextDelta(1, " more"), task="2.1")
    pieces = live.take()
    assert pieces is not None
    assert [(piece.id, piece.text) for piece in pieces.pieces] == [("2.1/assistant", " more")]
    assert drawn(live) == [("of 2.0", "writing …"), ("of 2.1 more", "writing …")]


def test_a_long_text_in_small_pieces_is_whole() -> None:
    """W4.7: parts are joined now and then, and nothing is lost by it."""
    live = Live()
    see(live, STARTED)
    for at in range(5000):
        see(live, told.TextDelta(1, f"{at} "))
        if at % 3 == 0:
            live.take()
    assert drawn(live)[0][0] == "".join(f"{at} " for at in range(5000))

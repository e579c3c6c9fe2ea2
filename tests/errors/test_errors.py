"""What an error says to a person, whatever its cause says of itself."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError, Llm4sError, MiddlewareFailed, NodeFailed, Refused, RunCrashed


class Speechless(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise ValueError("no words")


def three_lines(error: Llm4sError) -> list[str]:
    return error._render_traceback_()  # pyright: ignore[reportPrivateUsage]  # what IPython calls


def test_a_cell_shows_three_lines_also_of_a_cause_with_many():
    """What, where, what to do next: a cause's own lines become one."""
    failed = NodeFailed(node_id="n", task_id="0.0", cause=ValueError("one\n  two\nthree"))
    assert three_lines(failed)[0] == "NodeFailed: ValueError: one two three"
    assert len(three_lines(failed)) == 3
    assert failed.what == "ValueError: one\n  two\nthree"


@pytest.mark.parametrize("cause", [Speechless(), RuntimeError("half \ud83d")])
def test_a_cause_that_cannot_be_printed_is_named_all_the_same(cause: Exception):
    """A terminal and a browser take neither half a surrogate pair nor an exception in the middle."""
    for error in (NodeFailed(node_id="n", task_id="0.0", cause=cause), RunCrashed(cause=cause)):
        assert type(cause).__name__ in error.what
        str(error).encode()
        "\n".join(three_lines(error)).encode()


def test_a_reason_that_is_no_text_is_still_a_reason():
    """3.4, D21: user code is not always typed."""
    reason: Any = {"code": 5}
    assert str(Refused(reason)) == "{'code': 5}"


def test_a_hook_that_closed_the_turn_does_not_send_the_person_to_recover():
    """D21."""
    failed = MiddlewareFailed(middleware="m", cause=OSError("no disk"))
    closed = MiddlewareFailed(middleware="m", cause=OSError("no disk"), closed=True)
    assert ("recover" in failed.next_step, failed.recoverable) == (True, True)
    assert ("recover" in closed.next_step, closed.recoverable) == (False, False)


def test_what_to_do_next_can_be_said_by_who_knows_better():
    """A blank answer closes a turn: "nothing was changed" would be wrong there."""
    assert ConfigError(field="query", problems=["blank"], next_step="run it anew").next_step == "run it anew"
    assert "nothing was changed" in ConfigError(field="query", problems=["blank"]).next_step

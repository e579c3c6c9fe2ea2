"""A notebook run by a program: nobody is there, and nothing ever waits for input (F27)."""

from __future__ import annotations

from pathlib import Path

from .front_end import KernelFrontEnd
from .kernel_cells import setup

ONE = 'calls(deployment("c1", "1.0")), "it is out"'


def test_a_run_that_allows_no_input_raises_at_once_and_says_what_waits(kernel: KernelFrontEnd, tmp_path: Path):
    """F27: never touches stdin; the cell ends; what waits is shown as text."""
    kernel.run(setup(tmp_path, ONE), allow_stdin=False)
    cell = kernel.execute('await review(agent, "ship it", thread_id="t")', allow_stdin=False)
    kernel.finish(cell)
    assert kernel.error_names(cell) == ["PendingInterrupts"]
    (shown,) = kernel.errors(cell)
    assert "APPROVAL 2.0" in shown
    assert 'deploy {"version":"1.0"}' in shown
    assert "thread 't'" in shown
    assert not kernel.asked_for_input
    assert kernel.models() == []


def test_a_run_that_allows_no_input_uses_the_answers_given_for_that_case(kernel: KernelFrontEnd, tmp_path: Path):
    """F27: one unmodified file serves a person and a program."""
    kernel.run(setup(tmp_path, ONE), allow_stdin=False)
    cell = """
        result = await review(agent, "ship it", thread_id="t", unattended=lambda pending: pending.approve())
        print(result.answer, did())
    """
    assert kernel.run(cell, allow_stdin=False) == "it is out ['deploy-1.0']\n"
    assert not kernel.asked_for_input


def test_the_same_cell_waits_for_a_person_where_input_is_allowed(kernel: KernelFrontEnd, tmp_path: Path):
    """F27: `unattended` is for nobody; with somebody there the console is shown and nothing is answered."""
    kernel.run(setup(tmp_path, ONE))
    kernel.execute('await review(agent, "ship it", thread_id="t", unattended=lambda pending: pending.approve())')
    console = kernel.waiting()
    assert len(kernel.document(console)["pending"]) == 1
    assert not (tmp_path / "did.txt").exists()


def test_answers_make_it_headless_in_front_of_a_person_too(kernel: KernelFrontEnd, tmp_path: Path):
    """api.md review: `answers` never shows a console."""
    kernel.run(setup(tmp_path, ONE))
    assert kernel.run('print((await review(agent, "ship it", answers={"2.0": {"decision": "approve"}})).answer)') == "it is out\n"
    assert kernel.models() == []


def test_an_error_prints_three_lines_and_tb_prints_all(kernel: KernelFrontEnd, tmp_path: Path):
    """The errors of this package say what, where and what next; the traceback is one %tb away."""
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('await agent.recover("nowhere")')
    kernel.finish(cell)
    assert kernel.errors(cell) == [
        "NothingToRecover: nothing of this thread is unfinished\n  where: thread 'nowhere'\n  next:  start a new turn with run"
    ]
    again = kernel.execute("%tb")
    kernel.finish(again)
    (shown,) = kernel.errors(again)
    assert "Traceback (most recent call last)" in shown
    assert 'await agent.recover("nowhere")' in shown
    assert "NothingToRecover" in shown

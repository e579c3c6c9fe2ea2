"""Interrupting the kernel: while a person is awaited it ends the wait; while a tool runs it cancels the run."""

from __future__ import annotations

from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab


def _folder(lab: Lab, name: str) -> str:
    (lab.server.root / name).mkdir()
    return name


def test_while_a_person_is_awaited_an_interrupt_ends_the_wait_and_the_cards_stay_answerable(lab: Lab) -> None:
    """The console says how to wait again; the answer given afterwards is taken, and a cell that waits again gets the result."""
    folder = _folder(lab, "interrupt-wait")
    (lab.server.root / folder / "enough.txt").write_text("yes")
    again = 'r2 = await review(a, "go", thread_id="t")\nprint("second", r2.answer)'
    notebook = lab.new(
        f"{folder}/n.ipynb", AGENT, 'a = agent(middleware=[Region()])\nr = await review(a, "go", thread_id="t")\nprint(r.answer)', again
    )
    notebook.run(0)
    notebook.send(1)
    console = ConsolePage(notebook, 1).wait()
    console.card("MIDDLEWARE_QUESTION", "region")
    notebook.interrupt()
    notebook.wait_done(1)
    expect(console.by("notice")).to_contain_text('thread_id="t"')
    assert notebook.output(1).endswith(
        "CancelledError: this cell waits no more, and nothing is lost\n"
        '  next:  answer above all the same; to wait again: await review(agent, "…", thread_id="t")'
    )
    console.card("MIDDLEWARE_QUESTION", "region").fill("topic", "eu").send()
    console.card("APPROVAL", "deploy").click("approve").gone()
    notebook.send(2)
    second = ConsolePage(notebook, 2).wait()
    second.card("QUESTION", "choose_window").fill("start", "10:00").send()
    notebook.wait_done(2)
    assert "second done, guaranteed" in notebook.output(2)
    assert (notebook.file.parent / "ran.txt").read_text() == "deploy staging 1.4.0\n"
    assert lab.complaints == []


def test_while_a_tool_runs_an_interrupt_cancels_and_recover_finishes(lab: Lab) -> None:
    """R8.3, R8.10: the cancelled run is recovered by the console's button; the call that had finished does not run again."""
    folder = _folder(lab, "interrupt-tool")
    notebook = lab.new(f"{folder}/n.ipynb", AGENT, 'a = agent()\nr = await review(a, "go", thread_id="t")\nprint(r.answer)')
    notebook.run(0)
    notebook.send(1)
    console = ConsolePage(notebook, 1).wait()
    expect(console.by("run-line")).to_contain_text("assistant")
    notebook.interrupt()
    notebook.wait_done(1)
    console.expect_status("unfinished")
    (notebook.file.parent / "enough.txt").write_text("yes")
    console.by("recover").click()
    console.card("APPROVAL", "deploy").click("approve").gone()
    console.card("QUESTION", "choose_window").fill("start", "10:00").send()
    console.expect_status("completed")
    assert (notebook.file.parent / "ran.txt").read_text() == "deploy staging 1.4.0\n"


def test_the_cancel_button_ends_a_running_turn(lab: Lab) -> None:
    """W4.3: while the tool runs the status line shows superstep and node; cancel leaves the thread for recover."""
    folder = _folder(lab, "cancel")
    notebook = lab.new(f"{folder}/n.ipynb", AGENT, 's = Session(agent(), "t")\nConsole(s, query="go")', "1 + 1")
    notebook.run(0)
    notebook.run(1)
    console = ConsolePage(notebook, 1).wait()
    expect(console.by("run-line")).to_contain_text("superstep")
    assert notebook.run(2).strip() == "2"
    console.by("cancel").click()
    console.expect_status("unfinished")

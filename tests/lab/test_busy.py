"""F37: a click while a cell keeps the kernel busy, in a real JupyterLab; the idle and the dead kernel are in the tests beside this."""

from __future__ import annotations

from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab

GATE = """
import pathlib, time
pathlib.Path("busy.txt").touch()
while not pathlib.Path("free.txt").exists():
    time.sleep(0.05)
"""


def test_a_click_while_a_cell_computes_is_said_to_be_waiting_and_carried_out_once(lab: Lab) -> None:
    """W1.5, F37: the view says so while the cell runs and keeps the draft of another card; the call runs when the kernel is free, once."""
    folder = "busy"
    (lab.server.root / folder).mkdir()
    (lab.server.root / folder / "enough.txt").write_text("yes")
    notebook = lab.new(f"{folder}/n.ipynb", AGENT, 's = Session(agent(), "t")\nConsole(s, query="go")', GATE)
    notebook.run(0)
    notebook.run(1)
    console = ConsolePage(notebook, 1).wait()
    console.expect_cards(2)
    approval, question = console.card("APPROVAL"), console.card("QUESTION")
    notebook.send(2)
    lab.page.wait_for_function("async () => (await fetch('/files/busy/busy.txt')).ok")
    question.fill("start", "10:00")
    approval.click("approve")
    expect(approval.root).to_contain_text("kernel busy or not connected")
    expect(console.by("connection")).to_be_visible()
    approval.by("approve").click(force=True)  # an impatient person's second click
    expect(question.root.get_by_label("start").first).to_have_value("10:00")
    (lab.server.root / folder / "free.txt").write_text("yes")
    approval.gone()
    notebook.wait_done(2)
    expect(console.by("connection")).to_be_hidden()
    expect(question.root.get_by_label("start").first).to_have_value("10:00")
    expect(question.by("submit-card")).not_to_have_attribute("aria-disabled", "true")
    question.send()
    console.expect_status("completed")
    assert (lab.server.root / folder / "ran.txt").read_text() == "deploy staging 1.4.0\n"

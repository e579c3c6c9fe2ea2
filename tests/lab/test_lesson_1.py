"""Lesson 1 as a person goes through it: every cell of the unmodified file, every kind of card, in a real JupyterLab."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
from playwright.sync_api import expect

from .console_page import ConsolePage
from .driver import Lab, Notebook

LESSON = Path(__file__).parents[2] / "notebooks" / "01_a_turn_that_waits.ipynb"


def _open(lab: Lab, name: str) -> tuple[Notebook, dict[str, int]]:
    """Open a copy of the lesson in a folder of its own; the indexes of its cells by the text they contain."""
    folder = lab.server.root / name
    folder.mkdir()
    shutil.copy(LESSON, folder / LESSON.name)
    cells = nbformat.read(str(LESSON), as_version=4).cells
    found = {
        key: next(i for i, cell in enumerate(cells) if cell.cell_type == "code" and text in cell.source)
        for key, text in {
            "console": "Console(session, query=QUERY)",
            "compute": "sum(n * n",
            "wait": "review(session",
            "messages": "for message in result.messages",
            "review": "review(assistant",
        }.items()
    }
    notebook = lab.open(f"{name}/{LESSON.name}")
    for index, cell in enumerate(cells[: found["console"]]):
        if cell.cell_type == "code":
            notebook.send(index)
    notebook.wait_done(max(i for i in range(found["console"]) if cells[i].cell_type == "code"))
    return notebook, found


def test_a_turn_is_answered_in_the_background_while_other_cells_compute(lab: Lab) -> None:
    """W2.2-W2.4, W2.6: three kinds through the widgets, a subset first and the rest later; a cell computes while the console waits."""
    notebook, at = _open(lab, "lesson-background")
    notebook.run(at["console"])
    console = ConsolePage(notebook, at["console"]).wait()
    console.expect_status("suspended")

    assert notebook.run(at["compute"]).strip() == "332833500"

    console.card("MIDDLEWARE_QUESTION", "region").fill("value", "eu").send()
    approval = console.card("APPROVAL", "deploy")
    console.expect_cards(2)
    approval.click("approve").gone()
    console.expect_cards(1)
    console.card("QUESTION", "1.4.0").fill("start", "23:15").send()

    refused = console.card("MIDDLEWARE_QUESTION", "no promises")
    refused.click("edit")
    text = refused.by("edit-text")
    text.fill(text.input_value().replace(" Success is guaranteed.", ""))
    expect(refused.root.locator(".llm4s-change")).to_contain_text("guaranteed")
    refused.send()
    console.expect_status("completed")

    assert "1.4.0 goes live at 23:15, 30 minutes at most" in notebook.run(at["wait"])
    messages = notebook.run(at["messages"])
    assert "(region eu)" in messages
    assert "guaranteed" not in messages
    assert lab.complaints == []


def test_two_submits_and_two_clicks_on_the_graph_in_one_awaiting_cell(lab: Lab) -> None:
    """W3.2, W2.5, W2.6: a cell awaits through two clicks on the graph and several submits, one of them of two cards at once."""
    notebook, at = _open(lab, "lesson-await")
    notebook.send(at["review"])
    console = ConsolePage(notebook, at["review"]).wait()
    console.expect_status("suspended")

    console.hold("assistant/model", "after")
    console.hold("assistant/finish", "before")
    console.card("MIDDLEWARE_QUESTION", "region").fill("value", "us").send()

    held = console.card("BREAKPOINT", "assistant/model")
    expect(held.root).to_contain_text("choose_window")
    expect(console.by("held-assistant/model")).to_have_text("1")
    assert not notebook.is_done(at["review"])
    held.click("proceed").gone()

    console.card("APPROVAL", "deploy")
    console.by("together").check()
    console.card("QUESTION", "1.5.0").fill("start", "21:00").click("choose")
    console.card("APPROVAL", "deploy").click("approve")
    console.by("submit-all").click()

    second = console.card("BREAKPOINT", "assistant/model")
    console.expect_cards(1)
    second.click("proceed").gone()
    console.card("BREAKPOINT", re.compile("assistant/finish")).click("proceed").gone()
    console.card("MIDDLEWARE_QUESTION", "no promises").click("allow").gone()

    notebook.wait_done(at["review"])
    assert "1.5.0 goes live at 21:00" in notebook.output(at["review"])
    assert "Success is guaranteed." in notebook.output(at["review"])
    assert lab.complaints == []


def test_the_cell_that_waits_is_shown_the_same_turn_when_it_runs_again(lab: Lab) -> None:
    """W5.4, F40: after a kernel restart the waiting turn is picked up from the file and finished; run again, nothing runs twice."""
    notebook, at = _open(lab, "lesson-restart")
    notebook.send(at["review"])
    console = ConsolePage(notebook, at["review"]).wait()
    console.card("MIDDLEWARE_QUESTION", "region").fill("value", "ap").send()
    console.card("APPROVAL", "deploy").click("approve").gone()
    question = console.card("QUESTION", "1.5.0").id
    notebook.restart()

    cells = nbformat.read(str(LESSON), as_version=4).cells
    for index in range(at["console"]):
        if cells[index].cell_type == "code":
            notebook.run(index)
    notebook.send(at["review"])
    console = ConsolePage(notebook, at["review"]).wait()
    again = console.card("QUESTION", "1.5.0")
    assert again.id == question
    console.expect_cards(1)
    again.fill("start", "20:30").send()
    console.card("MIDDLEWARE_QUESTION", "no promises").click("block").gone()
    notebook.wait_done(at["review"])
    console.expect_status("blocked")
    notebook.run(at["review"])
    ConsolePage(notebook, at["review"]).wait().expect_status("blocked")

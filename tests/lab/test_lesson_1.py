"""Lesson 1 as a person goes through it: every cell of the unmodified file, every kind of card, in a real JupyterLab."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, expect

from .console_page import Card, ConsolePage
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


def test_the_keyboard_alone_goes_through_the_lesson(lab: Lab) -> None:
    """W5.6, W2.10: from the first cell on without a pointer; each card is reached, decided and sent by keys, and it is said."""
    folder = lab.server.root / "lesson-keyboard"
    folder.mkdir()
    shutil.copy(LESSON, folder / LESSON.name)
    notebook = lab.open(f"lesson-keyboard/{LESSON.name}")
    cells = nbformat.read(str(LESSON), as_version=4).cells
    last = next(i for i, cell in enumerate(cells) if cell.cell_type == "code" and "Console(session, query=QUERY)" in cell.source)
    keys = lab.page.keyboard
    keys.press("Escape")
    for _ in range(last):
        keys.press("Shift+Enter")
    keys.press("Control+Enter")
    console = ConsolePage(notebook, last).wait()
    console.expect_status("suspended")
    before = notebook.sources()

    def tab_to(target: Locator) -> None:
        for _ in range(80):
            if target.evaluate("element => element.contains(document.activeElement)"):
                return
            keys.press("Tab")
        raise AssertionError(f"the Tab key does not come to {target}")

    def ready() -> None:
        expect(console.by("panel").locator('[aria-disabled="true"]')).to_have_count(0)  # no key decides while cards move

    def go_to(card: Card) -> None:
        tab_to(console.by("panel"))
        ready()
        for key in ("j", "k", "k"):
            if not card.root.evaluate("card => card.contains(document.activeElement)"):
                keys.press(key)
        expect(card.root).to_be_focused()

    tab_to(console.by("panel"))
    keys.press("?")
    expect(console.root.get_by_label("Keys of this panel")).to_be_visible()
    keys.press("?")
    region = console.card("MIDDLEWARE_QUESTION", "region")
    tab_to(region.root.get_by_label("value").first)
    keys.type("eu")
    keys.press("Control+Enter")
    region.gone()

    approval = console.card("APPROVAL", "deploy")
    console.expect_cards(2)
    go_to(approval)
    keys.press("r")
    expect(approval.by("reject-reason")).to_be_focused()
    keys.press("Escape")
    keys.press("Escape")
    expect(approval.by("reject-reason")).to_have_count(0)
    keys.press("a")
    expect(approval.root).to_contain_text("chosen, not sent yet")
    keys.press("Control+Enter")
    approval.gone()
    expect(console.by("live")).to_contain_text("1 left")

    question = console.card("QUESTION", "1.4.0")
    expect(question.root).to_be_focused()
    tab_to(question.root.get_by_label("start").first)
    keys.type("23:15")
    ready()
    keys.press("Control+Enter")
    question.gone()

    refused = console.card("MIDDLEWARE_QUESTION", "no promises")
    go_to(refused)
    keys.press("e")
    expect(refused.by("edit-text")).to_be_focused()
    keys.press("Control+a")
    keys.type("1.4.0 goes live at 23:15.")
    keys.press("Control+Enter")
    console.expect_status("completed")
    expect(console.by("transcript")).to_contain_text("1.4.0 goes live at 23:15.")
    assert notebook.sources() == before
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

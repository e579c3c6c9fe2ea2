"""Notebook 7 beside JupyterLab: the same turn in an awaiting cell (W5.1); its shortcuts are in test_shortcuts.py."""

from __future__ import annotations

from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab
from .test_text_review import REFUSED, TextsPage
from .test_text_review import opened as texts_opened


def _open(page: Lab, folder: str, *cells: str) -> ConsolePage:
    (page.server.root / folder).mkdir()
    (page.server.root / folder / "enough.txt").write_text("yes")
    notebook = page.new(f"{folder}/n.ipynb", AGENT, *cells)
    notebook.run(0)
    notebook.send(1)
    return ConsolePage(notebook, 1).wait()


def test_a_cell_waits_through_two_answers_and_a_click_on_the_graph(notebook_7: Lab) -> None:
    """W5.1, W3.2: messages of the widget arrive while its cell awaits, more than one of them."""
    console = _open(notebook_7, "await", 'result = await review(agent(), "go", thread_id="t")\nprint(result.status)')
    console.expect_cards(2)
    console.hold("assistant/finish", "before")
    console.card("APPROVAL").click("approve").gone()
    console.card("QUESTION").fill("start", "10:00").send()
    held = console.card("BREAKPOINT")
    assert not console.notebook.is_done(1)
    held.click("proceed").gone()
    console.notebook.wait_done(1)
    assert "done, guaranteed" in console.root.inner_text()
    assert (notebook_7.server.root / "await" / "ran.txt").read_text() == "deploy staging 1.4.0\n"
    # Notebook 7.6 complains once about a settings schema of its own.
    assert [error for error in notebook_7.complaints if "/static/notebook/" not in error] == []


def test_texts_are_judged_by_keyboard_and_no_key_reaches_the_notebook(notebook_7: Lab) -> None:
    """T3.3, W5.6: the review of texts is as operable there."""
    notebook = texts_opened(notebook_7, "texts")
    for index in range(3):
        notebook.run(index, timeout=60)
    page = TextsPage(notebook, 1)
    before = notebook.sources()
    page.by("texts-list").focus()
    page.at(0)
    for key, following in (("b", 7), ("a", 14)):
        notebook_7.page.keyboard.press(key)
        page.at(following)
    for key in ("x", "d", "d", "m", "z", "1", "Shift+Enter"):
        notebook_7.page.keyboard.press(key)
    assert notebook.sources() == before
    expect(page.by("texts-left")).to_contain_text(f"{REFUSED - 2:,} undecided")

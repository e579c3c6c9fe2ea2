"""Notebook 7 beside JupyterLab: the same turn, its own shortcuts, an awaiting cell (W5.1, W5.6, F30)."""

from __future__ import annotations

from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab


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


def test_no_key_typed_in_the_console_reaches_the_notebook(notebook_7: Lab) -> None:
    """F30, W5.6: letters, digits and Shift+Enter in any part of the console add, delete, move and turn no cell."""
    console = _open(notebook_7, "keys", 's = Session(agent(), "t")\nConsole(s, query="go")')
    console.expect_cards(2)
    approval, question = console.card("APPROVAL"), console.card("QUESTION")
    approval.click("edit")
    before = console.notebook.sources()
    for place in (
        question.root.get_by_label("start").first,
        approval.root.locator("input[type=radio], select").first,
        question.by("submit-card"),
        question.root,
        console.node("assistant/model"),
    ):
        place.focus()
        expect(place).to_be_focused()
        for key in ("b", "d", "d", "m", "1", "x", "z", "Shift+Enter"):
            notebook_7.page.keyboard.press(key)
        assert console.notebook.sources() == before
    console.expect_cards(2)

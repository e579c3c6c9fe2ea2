"""Reloading the page during an await: what comes back, and how to go on where it does not."""

from __future__ import annotations

from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab, Notebook

REVIEW = 'r = await review(agent(middleware=[Region()]), "go", thread_id="t")\nprint("ended with", r.answer)'


def _awaiting(lab: Lab, folder: str) -> Notebook:
    (lab.server.root / folder).mkdir()
    (lab.server.root / folder / "enough.txt").write_text("yes")
    notebook = lab.new(f"{folder}/n.ipynb", AGENT, REVIEW)
    notebook.run(0)
    notebook.send(1)
    ConsolePage(notebook, 1).wait().card("MIDDLEWARE_QUESTION", "region")
    return notebook


def test_a_saved_notebook_shows_cards_drafts_and_clicks_again_and_the_console_shows_the_end(lab: Lab) -> None:
    """W1.4, F24: the draft comes back, the graph takes clicks, the turn is finished in the reloaded page."""
    notebook = _awaiting(lab, "reload-saved")
    console = ConsolePage(notebook, 1)
    console.card("MIDDLEWARE_QUESTION", "region").fill("topic", "half an ans")
    lab.wait_for_draft("half an ans")
    notebook.save()
    lab.reload()

    console = ConsolePage(notebook, 1).wait()
    card = console.card("MIDDLEWARE_QUESTION", "region")
    expect(card.root.get_by_label("topic").first).to_have_value("half an ans")
    console.hold("assistant/model", "after")
    card.fill("topic", "eu").send()
    console.card("BREAKPOINT", "assistant/model").click("proceed").gone()
    console.card("APPROVAL", "deploy").click("approve").gone()
    console.card("QUESTION", "choose_window").fill("start", "10:00").send()
    console.card("BREAKPOINT", "assistant/model").click("proceed").gone()
    console.expect_status("completed")
    expect(console.by("transcript")).to_contain_text("done, guaranteed")


def test_an_unsaved_notebook_is_interrupted_and_review_shows_the_same_turn(lab: Lab) -> None:
    """F24: the cell's output is gone with the page, the turn is not: interrupt, and review with its thread_id shows it."""
    notebook = _awaiting(lab, "reload-unsaved")
    interrupt_id = ConsolePage(notebook, 1).card("MIDDLEWARE_QUESTION", "region").id
    lab.reload()
    expect(notebook.cell(1).locator('[data-testid="console"]')).to_have_count(0)
    notebook.interrupt()
    notebook.send(1)
    console = ConsolePage(notebook, 1).wait()
    card = console.card("MIDDLEWARE_QUESTION", "region")
    assert card.id == interrupt_id
    card.fill("topic", "eu").send()
    console.card("APPROVAL", "deploy").click("approve").gone()
    console.card("QUESTION", "choose_window").fill("start", "10:00").send()
    notebook.wait_done(1)
    assert "ended with done, guaranteed" in notebook.output(1)


def test_after_a_kernel_restart_a_view_says_that_it_is_not_connected_and_keeps_what_was_typed(lab: Lab) -> None:
    """F24: the buttons of a dead view are disabled, one line says how to go on, the typed text can still be read."""
    notebook = _awaiting(lab, "restart-view")
    console = ConsolePage(notebook, 1)
    card = console.card("MIDDLEWARE_QUESTION", "region").fill("topic", "typed before")
    notebook.restart()
    expect(console.by("connection")).to_contain_text("Not connected", timeout=30_000)
    expect(card.by("submit-card")).to_be_disabled()
    expect(card.root.get_by_label("topic").first).to_have_value("typed before")

"""The console in both themes, with everything open at once: axe, the keyboard, and the notebook's own shortcuts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation_with_all_kinds_pending_a_diff_open_and_a_problem_on_a_field(lab: Lab, theme: str) -> None:
    """W5.5, W5.6: approval with a diff, tool question with a problem, middleware question and a held task, light and dark."""
    folder = f"axe-{theme}"
    (lab.server.root / folder).mkdir()
    setup = AGENT + "\n\nBATCH = calls(*BATCH.tool_calls, ToolCall('c4', 'look', {}))\n"
    look = '@tool\nasync def look() -> str:\n    """Look."""\n    return "seen"\n'
    cell = "a = agent(middleware=[Slow()]).with_(tools=[deploy, ChooseWindow(), wait, look], interrupt_after=[AgentNode.TOOL])\n"
    notebook = lab.new(f"{folder}/n.ipynb", setup, look + cell + 's = Session(a, "t")\nConsole(s, query="go")')
    notebook.run(0)
    notebook.run(1)
    lab.theme("dark" if theme == "dark" else "light")
    console = ConsolePage(notebook, 1).wait()
    console.expect_cards(4)
    for kind in ("APPROVAL", "QUESTION", "MIDDLEWARE_QUESTION", "BREAKPOINT"):
        expect(console.root.locator(f'[data-kind="{kind}"]')).to_have_count(1)
    approval = console.card("APPROVAL")
    approval.click("edit")
    approval.fill("version", "1.5.0")
    expect(approval.by("diff")).to_be_visible()
    question = console.card("QUESTION")
    question.fill("start", "soon")
    question.click("submit-card")
    expect(question.by("problem").first).to_be_visible()
    console.node("assistant/call-tool").click()
    if "SHOTS" in os.environ:
        shots = Path(os.environ["SHOTS"])
        lab.page.set_viewport_size({"width": 1280, "height": 3400})
        console.root.screenshot(path=str(shots / f"console-{theme}.png"))
    serious = [one for one in lab.axe(".llm4s-root") if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in serious] == []


def test_the_keyboard_alone_answers_a_turn_and_never_reaches_the_notebook(lab: Lab) -> None:
    """W5.6, F42: j, k, a, r, e, p and Ctrl+Enter act on cards; letters typed anywhere in the console change no cell."""
    folder = "keyboard"
    (lab.server.root / folder).mkdir()
    (lab.server.root / folder / "enough.txt").write_text("yes")
    notebook = lab.new(f"{folder}/n.ipynb", AGENT, 's = Session(agent(), "t")\nConsole(s, query="go")')
    notebook.run(0)
    notebook.run(1)
    console = ConsolePage(notebook, 1).wait()
    console.expect_cards(2)
    before = notebook.sources()
    question = console.card("QUESTION")
    keys = lab.page.keyboard

    for focus in (question.root.get_by_label("start").first, question.by("submit-card"), console.node("assistant/model")):
        focus.focus()
        for key in ("x", "d", "d", "z", "m", "1", "b"):
            keys.press(key)
    assert notebook.sources() == before

    field = question.root.get_by_label("start").first
    field.fill("10:00")
    field.press("Enter")
    field.press("Shift+Enter")
    lab.page.wait_for_timeout(300)
    console.expect_cards(2)
    assert notebook.sources() == before

    console.card("APPROVAL").root.focus()
    keys.press("r")
    expect(console.card("APPROVAL").by("reject-reason")).to_be_focused()
    keys.press("Escape")
    console.card("APPROVAL").root.focus()
    keys.press("j")
    keys.press("k")
    keys.press("a")
    console.expect_cards(2)
    keys.press("Control+Enter")
    console.expect_cards(1)
    expect(question.root).to_be_focused()
    expect(console.by("live")).to_contain_text("1 left")
    expect(question.by("submit-card")).not_to_have_attribute("aria-disabled", "true")  # no key decides while cards move
    keys.press("Control+Enter")
    console.expect_status("completed")
    assert notebook.sources() == before

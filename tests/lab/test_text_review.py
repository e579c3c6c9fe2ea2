"""Ten thousand texts in JupyterLab: what is drawn, the keyboard, a reload, both themes."""

from __future__ import annotations

import os
from pathlib import Path

from playwright.sync_api import Locator, expect

from .driver import Lab, Notebook

SETUP = """
from llm4s_notebook import DecisionLog, LengthCheck, TextReview, WordList

texts = {f"answer {n:05}": f"Dear customer {n}, your parcel " + ("is guaranteed to arrive." if n % 7 == 0 else "arrives on Monday.")
         for n in range(10_000)}
texts["answer 00014"] = "<script>document.title = 'run'</script> guaranteed \\u202e gnp.exe " + "x" * 100_000
check = TextReview(texts, [WordList(["guaranteed"], name="no promises"), LengthCheck(max=1000)],
                   decisions=DecisionLog("verdicts.jsonl"), principal="rita")
"""
REFUSED = 1429


class TextsPage:
    """The review that a cell of the open notebook shows."""

    def __init__(self, notebook: Notebook, cell: int) -> None:
        self.notebook = notebook
        self.root = notebook.cell(cell).locator('[data-testid="texts"]').first

    def by(self, testid: str) -> Locator:
        return self.root.locator(f'[data-testid="{testid}"]')

    @property
    def rows(self) -> Locator:
        return self.by("texts-row")

    def row(self, position: int) -> Locator:
        return self.root.locator(f'[data-position="{position}"][role="option"]')

    def at(self, position: int) -> None:
        """Wait until this text is open."""
        expect(self.by("texts-detail")).to_have_attribute("data-position", str(position))

    def shot(self, name: str) -> None:
        """For a person to look at, where the environment names a folder for it."""
        if "SHOTS" in os.environ:
            self.root.screenshot(path=str(Path(os.environ["SHOTS"]) / f"{name}.png"))


def opened(lab: Lab, folder: str, *cells: str) -> Notebook:
    (lab.server.root / folder).mkdir()
    return lab.new(f"{folder}/n.ipynb", SETUP, "check", "checked = await check.run()", *cells)


def test_ten_thousand_texts_are_judged_by_keyboard_and_a_reload_keeps_the_verdicts(lab: Lab) -> None:
    """T3.1, T3.3, W5.6: few rows in the page, five verdicts by keys that reach no cell, all of them there after a reload."""
    notebook = opened(lab, "texts-keys")
    for index in range(2):
        notebook.run(index)
    page = TextsPage(notebook, 1)
    expect(page.by("texts-empty")).to_contain_text("run the guardrails")
    notebook.run(2, timeout=60)
    expect(page.by("texts-left")).to_contain_text(f"{REFUSED:,} refused")
    expect(page.rows.first).to_be_visible()
    assert page.rows.count() <= 40
    page.shot("texts-light")
    before = notebook.sources()
    keys = lab.page.keyboard

    page.by("texts-list").focus()
    page.at(0)
    keys.press("b")
    page.at(7)
    keys.press("a")
    page.at(14)
    assert lab.page.title() != "run"
    page.shot("texts-hostile")
    keys.press("b")
    page.at(21)
    keys.press("e")
    expect(page.by("texts-edit")).to_be_focused()
    keys.press("Control+a")
    keys.type("Dear customer 21, your parcel should arrive.")
    page.shot("texts-edit")
    keys.press("Control+Enter")
    page.at(28)
    expect(page.by("texts-list")).to_be_focused()
    keys.press("n")
    expect(page.by("texts-note")).to_be_focused()
    keys.type("a friend asked for it")
    keys.press("Escape")
    keys.press("a")
    page.at(35)
    for key in ("x", "d", "d", "m", "z", "1", "Shift+Enter", "Control+Enter"):
        keys.press(key)
    assert notebook.sources() == before
    expect(page.by("texts-left")).to_contain_text(f"{REFUSED - 5:,} undecided")
    keys.press("u")
    page.at(28)
    expect(page.by("texts-left")).to_contain_text(f"{REFUSED - 4:,} undecided")
    keys.press("a")
    page.at(35)

    page.by("block").click()
    for key in ("d", "d", "x"):
        keys.press(key)
    page.at(42)
    assert notebook.sources() == before

    page.by("texts-list").evaluate("list => { list.scrollTop = list.scrollHeight; }")
    expect(page.row(9996)).to_contain_text("answer 09996")
    assert page.rows.count() <= 40

    notebook.save()
    lab.reload()
    page = TextsPage(notebook, 1)
    expect(page.by("texts-left")).to_contain_text(f"{REFUSED - 6:,} undecided")
    expect(page.row(7)).to_have_attribute("data-mark", "allow")
    expect(page.row(21)).to_have_attribute("data-mark", "edit")
    verdicts = (
        "{text[14:16].strip(): (given.mark, given.note, given.by) for text, given in check.verdicts.items() if text.startswith('Dear')}"
    )
    assert notebook.kernel(verdicts) == {
        "0,": ["block", None, "rita"],
        "7,": ["allow", None, "rita"],
        "21": ["edit", None, "rita"],
        "28": ["allow", None, "rita"],
        "35": ["block", None, "rita"],
    }


def test_other_guardrails_are_compared_and_axe_finds_nothing_in_either_theme(lab: Lab) -> None:
    """T2.2, W5.5: what is newly refused and newly passing, a blocked text that comes through; light and dark, with an edit open."""
    tuned = "tuned = await check.with_guardrails([WordList(['guaranteed'], name='no promises'), LengthCheck(max=60)]).run()\ntuned"
    softer = "soft = await check.with_guardrails([LengthCheck(max=1000)]).run()\nsoft"
    notebook = opened(lab, "texts-tuned", "check.decide('answer 00007', 'block'); check.decide('answer 00021', 'allow')", softer, tuned)
    for index in (0, 1, 2, 3, 4, 5):
        notebook.run(index, timeout=60)
    page = TextsPage(notebook, 4)
    expect(page.by("texts-newly_passing")).to_contain_text(f"{REFUSED - 1:,} newly passing")
    page.by("texts-missed").click()
    page.at(7)
    expect(page.by("texts-detail")).to_contain_text("before: refused")
    page.by("edit").click()
    for theme in ("light", "dark"):
        lab.theme(theme)
        page.shot(f"texts-tuned-{theme}")
        serious = [one for one in lab.axe(".llm4s-root") if one["impact"] in ("serious", "critical")]
        assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in serious] == []
    lab.page.set_viewport_size({"width": 690, "height": 900})
    page.shot("texts-narrow-dark")

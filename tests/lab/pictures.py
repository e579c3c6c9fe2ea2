"""Take the pictures of `docs/images` anew: `./run pictures`, or `python -m tests.lab.pictures FOLDER [NAME …]`.

Each is what a person sees in a JupyterLab of its own, taken by the same driver that the browser tests use. README and the pages of `docs`
show them; `tests/packaging/test_pictures.py` holds their number and size.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.sync_api import Locator, expect, sync_playwright

from .agents import AGENT
from .conftest import launch
from .console_page import ConsolePage
from .driver import Lab, Notebook
from .server import lab_server

Theme = Literal["light", "dark"]
LESSONS = Path(__file__).parents[2] / "notebooks"


def _lesson(lab: Lab, name: str, folder: str, upto: str) -> tuple[Notebook, int]:
    """A lesson, run up to the code cell that contains a text, and that cell's index."""
    (lab.server.root / folder).mkdir()
    shutil.copy(LESSONS / name, lab.server.root / folder / name)
    notebook = lab.open(f"{folder}/{name}")
    sources = notebook.sources()
    last = next(index for index, source in enumerate(sources) if source.startswith("code:") and upto in source)
    for index in range(last + 1):
        if sources[index].startswith("code:"):
            notebook.send(index)
    return notebook, last


def console(lab: Lab, theme: Theme) -> Locator:
    """A turn that waits in three ways: an approval being edited, a question filled in, the graph with a breakpoint."""
    page = ConsolePage(*_lesson(lab, "01_a_turn_that_waits.ipynb", f"console-{theme}", "Console(session, query=QUERY)")).wait()
    page.card("MIDDLEWARE_QUESTION", "region").fill("value", "eu").send()
    approval = page.card("APPROVAL", "deploy")
    approval.click("edit")
    approval.fill("version", "1.4.1")
    page.card("QUESTION").fill("start", "22:30")
    page.hold("assistant/finish", "before")
    return page.root


def cards(lab: Lab, theme: Theme) -> Locator:
    """A held call, a question and an approval, decided together and not yet sent."""
    folder = f"cards-{theme}"
    (lab.server.root / folder).mkdir()
    look = '@tool\nasync def look() -> str:\n    """Look."""\n    return "seen"\n'
    batch = "\nBATCH = calls(*BATCH.tool_calls, ToolCall('c4', 'look', {}))\n"
    cell = "a = agent(middleware=[Slow()]).with_(tools=[deploy, ChooseWindow(), wait, look], interrupt_after=[AgentNode.TOOL])\n"
    notebook = lab.new(f"{folder}/n.ipynb", AGENT + batch, look + cell + 's = Session(a, "release-14")\ns.begin("go")\nReviewPanel(s)')
    notebook.run(0)
    notebook.run(1)
    panel = notebook.cell(1).locator('[data-testid="panel"]')
    expect(panel.locator("[data-card]")).to_have_count(4)
    panel.get_by_test_id("together").check()
    panel.locator('[data-kind="APPROVAL"]').get_by_test_id("reject").click()
    return panel


def texts(lab: Lab, theme: Theme) -> Locator:
    """Lesson 3's 200 answers: three decided by keyboard, the next one open to be edited."""
    notebook, cell = _lesson(lab, "03_what_guardrails_refuse.ipynb", f"texts-{theme}", "await review.run()")
    review = notebook.cell(cell).locator('[data-testid="texts"]')
    expect(review.get_by_test_id("texts-left")).to_contain_text("30 refused")
    review.get_by_test_id("texts-row").first.click()
    for key in ("a", "b", "a"):
        at = str(review.get_by_test_id("texts-detail").get_attribute("data-position"))
        lab.page.keyboard.press(key)
        expect(review.get_by_test_id("texts-detail")).not_to_have_attribute("data-position", at)
    lab.page.keyboard.press("e")
    expect(review.locator("textarea").first).to_be_visible()
    return review


PICTURES: dict[str, tuple[Callable[[Lab, Theme], Locator], Theme]] = {
    "console-light": (console, "light"),
    "console-dark": (console, "dark"),
    "cards-light": (cards, "light"),
    "cards-dark": (cards, "dark"),
    "texts-light": (texts, "light"),
    "texts-dark": (texts, "dark"),
}


def main() -> None:
    folder = Path(sys.argv[1])
    wanted = sys.argv[2:] or list(PICTURES)
    with sync_playwright() as playwright, lab_server() as server:
        browser = launch(playwright)
        for name in wanted:
            make, theme = PICTURES[name]
            page = browser.new_page(viewport={"width": 1280, "height": 3000})
            lab = Lab(server, page)
            shown = make(lab, theme)
            lab.theme(theme)
            page.wait_for_timeout(500)  # fonts and colours settle
            shown.screenshot(path=str(folder / f"{name}.png"), animations="disabled")
            print(f"{name}: {(folder / f'{name}.png').stat().st_size / 1000:.0f} kB")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()

"""Lesson 2 as a person goes through it: the unmodified file in a real JupyterLab, on its mock provider."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nbformat
from playwright.sync_api import expect

from .console_page import ConsolePage
from .driver import Lab, Notebook

LESSON = Path(__file__).parents[2] / "notebooks" / "02_your_own_model.ipynb"
CELLS = nbformat.read(str(LESSON), as_version=4).cells
CODE = [index for index, cell in enumerate(CELLS) if cell.cell_type == "code"]


def at(text: str) -> int:
    return next(index for index in CODE if text in CELLS[index].source)


def shot(notebook: Notebook, cell: int, name: str) -> None:
    """For a person to look at, where the environment names a folder for it."""
    if "SHOTS" in os.environ:
        for theme in ("light", "dark"):
            notebook.lab.theme(theme)
            notebook.cell(cell).screenshot(path=str(Path(os.environ["SHOTS"]) / f"{name}-{theme}.png"), animations="disabled")


def test_a_refund_is_refused_with_a_reason_and_two_prompts_are_compared(lab: Lab) -> None:
    """M4, M5.2: the cards in the cells that wait, the model's answer to a reason, faults and what mends them, both prompts side by side."""
    (lab.server.root / "lesson-2").mkdir()
    shutil.copy(LESSON, lab.server.root / "lesson-2" / LESSON.name)
    notebook = lab.open(f"lesson-2/{LESSON.name}")
    script, model = at("script = ScriptedClient"), at("client=client")
    for index in CODE[: CODE.index(script)]:
        notebook.send(index)
    notebook.wait_output(at("MODEL ="), "talks to the mock provider on this machine", timeout=60)

    notebook.send(script)
    ConsolePage(notebook, script).wait().card("APPROVAL", "39 euros").click("approve").gone()
    notebook.wait_output(script, "39 euros are on their way.")

    notebook.send(model)
    console = ConsolePage(notebook, model).wait()
    asked = console.card("APPROVAL", "60 euros")
    shot(notebook, model, "lesson-2-card")
    asked.click("reject").by("reject-reason").fill("it cost 39")
    asked.send()
    notebook.wait_output(model, "I cannot do that: it cost 39.")
    console.expect_status("completed")
    shot(notebook, model, "lesson-2-answered")

    for index in CODE[CODE.index(model) + 1 :]:
        notebook.run(index, timeout=60)
    assert "requests sent: 2" in notebook.output(at("fail_next(429"))
    assert "make a client with a valid key, then recover(thread_id)" in notebook.output(at("a-wrong-key"))
    assert "will certainly be with you tomorrow" in notebook.output(at("on_mock.recover"))
    table = notebook.cell(at("await compare(")).locator("table").first
    expect(table).to_contain_text("Rejected: the kettle cost 39 euros")
    expect(table).to_contain_text("we refund within 30 days")
    shot(notebook, at("await compare("), "lesson-2-compared")
    if "SHOTS" in os.environ:
        for index in CODE:
            shot(notebook, index, f"lesson-2-cell-{index:02}")
    assert lab.complaints == []

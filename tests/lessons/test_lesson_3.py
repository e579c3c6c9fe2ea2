"""Lesson 3 tells a story with numbers: its texts, and what its guardrails find in them, are what its prose says."""

from __future__ import annotations

from pathlib import Path

import nbformat

from llm4s_notebook.examples.support_answers import SHOP_MAIL, SHOP_PHONE, support_answers

LESSON = nbformat.read(str(Path(__file__).parents[2] / "notebooks" / "03_what_guardrails_refuse.ipynb"), as_version=4)


def test_there_are_two_hundred_different_answers_the_same_each_time() -> None:
    """The lesson's numbers are counted on them."""
    answers = support_answers()
    assert answers == support_answers()
    assert (len(answers), len(set(answers.values()))) == (200, 200)
    assert any(SHOP_MAIL in text for text in answers.values())
    assert any(SHOP_PHONE in text for text in answers.values())


def test_the_prose_says_what_the_cells_find() -> None:
    """30 of 200 refused, two of three false alarms; then none, but five slip through; then neither."""
    prose = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown")
    printed = "\n".join(output.text for cell in LESSON.cells if cell.cell_type == "code" for output in cell.outputs)
    assert "30 of 200 are refused" in prose
    assert "Two refusals of three are **false alarms**" in prose
    totals = [line.split()[2:] for line in printed.splitlines() if line.startswith("all texts")]
    assert totals == [["30", "7", "20", "3", "0", "0", "0"], ["5", "2", "0", "3", "0", "0", "0"], ["10", "7", "0", "3", "0", "0", "0"]]
    assert "20 false alarms are gone\n5 answers that you blocked pass now:" in printed
    assert "5 newly refused, 0 that you blocked pass, 0 to decide" in printed
    assert "200 rows, 30 with a verdict" in printed
    assert "30 verdicts taken up" in printed

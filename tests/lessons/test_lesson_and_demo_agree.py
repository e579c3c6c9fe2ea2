"""The lesson spells out what `llm4s_notebook.examples.release` holds for the demo; the two must not drift apart."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat

import llm4s_notebook.examples.release as release

LESSON = Path(__file__).parents[2] / "notebooks" / "01_a_turn_that_waits.ipynb"


def _definitions(source: str) -> dict[str, str]:
    """Every top-level definition and constant, by name, as its syntax tree."""
    found: dict[str, str] = {}
    for node in ast.parse(source, mode="exec", type_comments=False).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            found[node.targets[0].id] = ast.dump(node)
    return found


def test_the_lesson_defines_what_the_demo_plays() -> None:
    """The demo plays lesson 1's turn: same tools, middleware, guardrail, script and stand-in reviewer."""
    lesson = {}
    for cell in nbformat.read(str(LESSON), as_version=4).cells:
        if cell.cell_type == "code" and not cell.source.startswith("# NBVAL_CHECK_OUTPUT"):
            lesson.update(_definitions(cell.source))
    demo = _definitions(Path(str(release.__file__)).read_text(encoding="utf-8"))
    assert lesson == demo


def test_every_cell_of_a_lesson_that_shows_a_result_is_checked() -> None:
    """A cell with a stored output is compared by nbval, and none is skipped."""
    for path in sorted(LESSON.parent.glob("*.ipynb")):
        for cell in nbformat.read(str(path), as_version=4).cells:
            assert "NBVAL_SKIP" not in cell.source
            if cell.cell_type == "code" and cell.outputs:
                assert cell.source.startswith("# NBVAL_CHECK_OUTPUT"), cell.source

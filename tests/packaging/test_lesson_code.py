"""Lesson 1 and the demo play the same turn: what the lesson defines is, name by name, what the package's example defines."""

from __future__ import annotations

import ast
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
LESSON = ROOT / "notebooks" / "01_a_turn_that_waits.ipynb"
EXAMPLE = ROOT / "llm4s_notebook" / "examples" / "release.py"


def definitions(source: str) -> dict[str, str]:
    """Every class, function and constant of a module, as its syntax: layout and comments do not count."""
    found: dict[str, str] = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            found[statement.name] = ast.dump(statement)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name) and statement.targets[0].id.isupper():
            found[statement.targets[0].id] = ast.dump(statement)
    return found


def test_the_lesson_defines_what_the_demo_plays() -> None:
    """A change of one without the other is found here."""
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    # cells that await are no module; none of them defines anything
    lesson = {name: syntax for source in code if "await " not in source or "def " in source for name, syntax in definitions(source).items()}
    example = definitions(EXAMPLE.read_text(encoding="utf-8"))
    assert len(example) > 10
    assert {name for name in example if lesson.get(name) != example[name]} == set()


def test_the_lesson_is_shipped_without_outputs() -> None:
    """What a cell shows is made on the person's machine; only cells that are checked carry what they must show."""
    for cell in json.loads(LESSON.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "NBVAL_CHECK_OUTPUT" not in "".join(cell["source"]):
            assert cell["outputs"] == [], cell["source"]
        assert "NBVAL_SKIP" not in "".join(cell["source"])

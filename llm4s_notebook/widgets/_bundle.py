"""Where a widget's script and styles come from: built from js/, and in the tree."""

from __future__ import annotations

import json
from pathlib import Path

STATIC = Path(__file__).resolve().parent.parent / "static"

_HOW = "(cd js && npm ci --ignore-scripts && npm run build)"


def script(name: str) -> Path | str:
    """The bundle of that name; where it is not built, a script that says how to build it."""
    path = STATIC / f"{name}.js"
    if path.is_file():
        return path
    text = f"llm4s_notebook/static/{path.name} is missing from this checkout. Build it, then restart the kernel: {_HOW}"
    return f"export default {{ render({{ el }}) {{ el.textContent = {json.dumps(text)}; }} }};"


def styles() -> Path | str:
    """The style sheet of all widgets; empty where it is not built."""
    path = STATIC / "llm4s.css"
    return path if path.is_file() else ""

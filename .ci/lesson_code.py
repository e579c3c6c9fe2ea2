"""Write the code of every lesson as a module that pyright can check: ``python .ci/lesson_code.py FOLDER``.

A notebook's cells share one scope and may await, so each lesson becomes the body of one async function. A cell's last expression is its
value, and names of one cell are for the next: the two rules that would call these a mistake are off, everything else is strict.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL_RULES_OFF = ("reportUnusedExpression", "reportUnusedVariable", "reportUnusedFunction", "reportUnusedClass")


def code_of(notebook: Path) -> str:
    """Return one module with all code cells of ``notebook``, line by line as they stand."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = ["async def lesson() -> None:", "    pass"]
    for number, cell in enumerate(cells):
        if cell["cell_type"] == "code":
            source = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
            lines += [f"    # cell {number}", *(_indented(line) for line in source.splitlines())]
    return "\n".join(lines) + "\n"


def _indented(line: str) -> str:
    magic = line.lstrip().startswith(("%", "!"))
    return f"    # {line}" if magic else f"    {line}" if line.strip() else ""


def main(folder: Path) -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not notebooks:
        raise SystemExit("notebooks/ holds no lesson")
    folder.mkdir(parents=True, exist_ok=True)
    for notebook in notebooks:
        (folder / f"lesson_{notebook.stem}.py").write_text(code_of(notebook), encoding="utf-8")
    settings: dict[str, object] = {"include": ["."], "typeCheckingMode": "strict", "pythonVersion": "3.11"}
    settings |= {"venvPath": str(ROOT), "venv": ".venv", **dict.fromkeys(LOCAL_RULES_OFF, False)}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Build hook: a wheel always carries the front-end bundles and the lessons, or is not built at all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLES = ("console.js", "review_panel.js", "graph_view.js", "transcript.js", "text_review.js", "llm4s.css", "THIRD_PARTY_LICENSES.txt")


class CompleteWheelHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling's own plugins leave the config type open
    """Take the committed bundles; run Node only when one is missing or ``LLM4S_BUILD_JS=1`` asks for a fresh build.

    The lessons stand at the top of the tree, where people look for notebooks, and inside the package once it is installed.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if self._missing(root) or os.environ.get("LLM4S_BUILD_JS") == "1":
            self._build(root)
        missing = self._missing(root)
        if missing:
            raise RuntimeError(f"llm4s_notebook/static lacks {', '.join(missing)} even after the front-end build")
        if version != "editable":
            build_data["force_include"] |= self._lessons(root)

    def _missing(self, root: Path) -> list[str]:
        return [name for name in BUNDLES if not (root / "llm4s_notebook" / "static" / name).is_file()]

    def _build(self, root: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError(
                f"llm4s_notebook/static lacks {', '.join(self._missing(root)) or 'nothing, but a fresh build was asked for'} "
                "and npm was not found: take a tree with the committed bundles, or install Node 20.19 or newer"
            )
        subprocess.run([npm, "ci", "--ignore-scripts"], cwd=root / "js", check=True)
        subprocess.run([npm, "run", "build"], cwd=root / "js", check=True)

    def _lessons(self, root: Path) -> dict[str, str]:
        lessons = sorted((root / "notebooks").glob("*.ipynb"))
        if not lessons:
            raise RuntimeError("notebooks/ holds no lesson")
        return {str(lesson): f"llm4s_notebook/lessons/{lesson.name}" for lesson in lessons}

"""The development page: a widget's real bundle in a real browser, over a model in the page that answers like a session."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from playwright.sync_api import Browser, Locator, Page

DEV = Path(__file__).parents[2] / "js" / "dev"
AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"


def shots() -> ModuleType:
    """The script that takes the pictures: it serves the page and knows how to bring a view into each state."""
    spec = importlib.util.spec_from_file_location("shots", DEV / "shots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class DevPage:
    """One page with one or more views; what its scripts raise is kept in `complaints`."""

    def __init__(self, browser: Browser, address: str, query: str, *, width: int = 900) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        self.page.goto(f"{address}?{query}")
        self.page.wait_for_selector("body[data-ready]")

    def by(self, testid: str) -> Locator:
        return self.page.get_by_test_id(testid)

    def requests(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of what was sent of this kind."""
        return self.page.evaluate("kind => model.requests.map(one => one.body).filter(body => body.kind === kind)", kind)

    def axe(self, not_ours: list[str]) -> list[tuple[str, list[str]]]:
        """Every violation, whatever its weight: the rule, and the elements."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = self.page.evaluate(
            "rules => axe.run(document.querySelector('#views'), { rules, resultTypes: ['violations'] })",
            {rule: {"enabled": False} for rule in not_ours},
        )
        return [(one["id"], [node["html"][:200] + node["failureSummary"][:200] for node in one["nodes"]]) for one in found["violations"]]

    def close(self) -> None:
        self.page.close()

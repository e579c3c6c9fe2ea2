"""A Chromium for the work items that are about what a person sees. Playwright's synchronous calls want a thread without a loop."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]

Samples = list[float]
"""Milliseconds."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser as the tests of tests/lab start it; those tests' helpers can be imported while it runs."""
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.lab.conftest import CHROMIUM, FLAGS, found_browser

    path = found_browser()
    if path is None:
        raise SystemExit(f"none of {', '.join(CHROMIUM)} is installed; name one in the environment variable CHROMIUM")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        yield browser
        browser.close()


def ninetieth(samples: Samples) -> float:
    """The value that nine of ten stay below."""
    return sorted(samples)[max(0, round(0.9 * len(samples)) - 1)]

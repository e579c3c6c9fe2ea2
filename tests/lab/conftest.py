"""One JupyterLab and one Chromium for all browser tests, one clean page for each.

Playwright's synchronous calls keep an event loop running in this thread until they are stopped. So the tests of this folder are plain
functions, and both fixtures last as long as this folder's tests and no longer: asyncio tests of other folders need the thread back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from .driver import SECONDS, Lab
from .server import LabServer, lab_server

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
expect.set_options(timeout=60 * SECONDS)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


def found_browser() -> str | None:
    """The Chromium to use, if there is one."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)


def launch(playwright: Playwright) -> Browser:
    """Start the machine's Chromium, without a window."""
    path = found_browser()
    if path is None:
        raise RuntimeError("Chromium is missing: apt-get install chromium, or name one in the environment variable CHROMIUM")
    return playwright.chromium.launch(executable_path=path, headless=True, args=FLAGS)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server() -> Iterator[LabServer]:
    with lab_server() as running:
        yield running


@pytest.fixture(scope="package")
def notebook_server() -> Iterator[LabServer]:
    with lab_server("notebook") as running:
        yield running


@pytest.fixture
def lab(server: LabServer, chromium: Browser) -> Iterator[Lab]:
    """A page of its own on the common server; kernels it started are ended with it."""
    yield from _page(server, chromium)


@pytest.fixture
def notebook_7(notebook_server: LabServer, chromium: Browser) -> Iterator[Lab]:
    """The same in Notebook 7."""
    yield from _page(notebook_server, chromium)


def _page(server: LabServer, chromium: Browser) -> Iterator[Lab]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(60 * SECONDS)
    page = context.new_page()
    yield Lab(server, page)
    for kernel in page.request.get(f"{server.url}/api/kernels").json():
        page.request.delete(f"{server.url}/api/kernels/{kernel['id']}")
    context.close()

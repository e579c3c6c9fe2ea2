"""One look at marimo: the console draws there and takes answers, and a cell that cannot wait says so at once (W5.1)."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from .agents import AGENT
from .driver import SECONDS
from .server import free_port, wait_until_up

APP = """
import marimo

app = marimo.App()


with app.setup:
    import marimo as mo
    from made import Console, Session, agent, review


@app.cell
def _():
    session = Session(agent(), "t")
    mo.ui.anywidget(Console(session, query="go"))
    return


@app.cell
async def _():
    try:
        await review(agent(), "go", thread_id="other")
    except Exception as error:
        refusal = str(error)
    mo.md(f"refused: {refusal}")
    return
"""


@contextlib.contextmanager
def marimo(folder: Path) -> Iterator[str]:
    """Serve `app.py` of a folder as an app; end the server when the block ends."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "marimo", "run", "app.py", "--headless", "--no-token", "--port", str(port), "--host", "127.0.0.1"]
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_CACHE_HOME": str(folder)}
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder)
        try:
            wait_until_up(process, f"{url}/health", folder / "server.log")
            yield url
        finally:
            process.terminate()
            process.wait(60)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "made.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    (tmp_path / "enough.txt").write_text("yes")
    with marimo(tmp_path) as url:
        yield url


def test_the_console_takes_answers_in_marimo_and_review_refuses_to_wait_there(app: str, chromium: Browser, tmp_path: Path) -> None:
    """W5.1: show the widget in one cell and read the result in the next; a wait would hang, so it is refused."""
    page = chromium.new_page(viewport={"width": 1200, "height": 900})
    page.goto(app)
    console = page.locator('[data-testid="console"]').first
    expect(console).to_be_visible(timeout=60 * SECONDS)
    expect(console.locator("[data-card]")).to_have_count(2)

    approval = console.locator('[data-kind="APPROVAL"]')
    approval.get_by_test_id("approve").click()
    expect(approval).to_have_count(0)
    question = console.locator('[data-kind="QUESTION"]')
    question.get_by_label("start").fill("10:00")
    question.get_by_test_id("submit-card").click()
    expect(console.get_by_test_id("status-line")).to_have_attribute("data-status", "completed")
    assert (tmp_path / "ran.txt").read_text() == "deploy staging 1.4.0\n"

    expect(page.get_by_text("refused:")).to_contain_text("a cell cannot wait in marimo")
    if "SHOTS" in os.environ:
        page.screenshot(path=str(Path(os.environ["SHOTS"]) / "marimo.png"), full_page=True)
    page.close()

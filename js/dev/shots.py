"""Take pictures of the widgets on the development page, light and dark, narrow and wide, and run axe on them.

`python js/dev/shots.py [folder]`; needs playwright and a Chromium (`CHROMIUM`, default /usr/bin/chromium).
"""

from __future__ import annotations

import functools
import http.server
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
# Headings and landmarks are the page's, not a widget's.
NOT_OURS = ["region", "page-has-heading-one", "landmark-one-main", "landmark-unique", "heading-order"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


def serve() -> str:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(ROOT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/js/dev/index.html"


def busy_console(page: Page) -> None:
    """An edit with its diff open, a problem on a field, a reject reason open, an answer begun."""
    deploy = page.get_by_test_id("card-2.0")
    deploy.get_by_test_id("edit").click()
    deploy.get_by_label("replicas", exact=True).fill("5")
    deploy.get_by_label("version", exact=True).fill("2.4")
    deploy.get_by_test_id("submit-card").click()
    page.get_by_test_id("card-2.1").get_by_test_id("reject").click()
    review = page.get_by_test_id("card-2.4")
    review.get_by_test_id("edit").click()
    review.get_by_test_id("edit-text").fill("Release 2.4.1 is out in every region.")
    page.wait_for_timeout(400)


def open_node(page: Page) -> None:
    page.get_by_test_id("node-release/call-tool").first.click()
    page.wait_for_timeout(200)


def chosen(page: Page) -> None:
    """By keyboard: approve, reject with its reason, hold on; and an edit that is only begun."""
    page.get_by_test_id("card-2.0").focus()
    page.keyboard.press("a")
    page.get_by_test_id("card-2.1").focus()
    page.keyboard.press("r")
    page.wait_for_timeout(100)
    page.get_by_test_id("card-3.0").focus()
    page.keyboard.press("p")
    page.get_by_test_id("card-2.4").focus()
    page.keyboard.press("e")
    page.wait_for_timeout(400)


def far_down(page: Page) -> None:
    page.get_by_test_id("card-list").evaluate("box => { box.scrollTop = 60000; }")
    page.wait_for_timeout(300)


def refused_and_stale(page: Page) -> None:
    page.evaluate("""async () => {
      model.refuse = await (await fetch('../tests/fixtures/messages/refused.json')).json();
      delete model.refuse.kind; delete model.refuse.request_id;
    }""")
    page.get_by_test_id("card-2.0").get_by_test_id("edit").click()
    page.get_by_test_id("card-2.0").get_by_test_id("submit-card").click()
    page.wait_for_timeout(300)


def late(page: Page) -> None:
    page.evaluate("() => { model.dead = true; }")
    page.get_by_test_id("card-2.0").get_by_test_id("approve").click()
    page.wait_for_timeout(1200)


def lost(page: Page) -> None:
    page.get_by_test_id("card-2.1").get_by_test_id("reject").click()
    page.wait_for_timeout(3600)


def by_hand(page: Page) -> None:
    page.evaluate("() => Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.get_by_test_id("card-2.0").get_by_test_id("copy-arguments").click()
    page.wait_for_timeout(100)


def help_and_confirm(page: Page) -> None:
    page.get_by_test_id("approve-all").click()
    page.get_by_label("Keyboard help").click()
    page.get_by_test_id("together").check()
    page.get_by_test_id("card-3.0").get_by_test_id("proceed").click()
    page.wait_for_timeout(500)


def prompt_edited(page: Page) -> None:
    """The editor open by keyboard, the prompt and an option changed, the diff shown."""
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.get_by_label("system_prompt", exact=True).fill("You release software. Ask before you deploy anywhere, and say what changes.")
    page.get_by_label("temperature", exact=True).fill("0.7")
    page.wait_for_timeout(400)


SHOTS: list[tuple[str, str, int, Any]] = [
    ("console-wide", "session=waiting", 1200, None),
    ("console-wide-dark", "session=waiting&dark&lab", 1200, None),
    ("console-busy", "session=waiting&lab", 1200, busy_console),
    ("console-busy-dark", "session=waiting&dark&lab", 1200, busy_console),
    ("console-narrow", "session=waiting&width=320", 360, busy_console),
    ("console-narrow-dark", "session=waiting&width=320&dark", 360, busy_console),
    ("console-confirm", "session=waiting&lab", 760, help_and_confirm),
    ("console-running", "session=running&lab", 1000, open_node),
    ("console-writing", "session=writing&lab", 1000, None),
    ("console-writing-dark", "session=writing&lab&dark&width=500", 540, None),
    ("console-new", "session=new&lab", 1000, None),
    ("console-blocked", "session=blocked&dark", 700, None),
    ("console-failed", "session=failed", 700, None),
    ("cards-chosen", "widget=review_panel&session=waiting&lab", 760, chosen),
    ("cards-chosen-dark", "widget=review_panel&session=waiting&lab&dark&width=500", 540, chosen),
    ("cards-readonly", "widget=review_panel&session=waiting&lab&readonly", 760, None),
    ("cards-refused", "widget=review_panel&session=waiting&lab&dark", 760, refused_and_stale),
    ("cards-late", "widget=review_panel&session=waiting&lab", 760, late),
    ("cards-lost", "widget=review_panel&session=waiting&lab&dark&dead", 760, lost),
    ("cards-by-hand", "widget=review_panel&session=waiting&lab&width=320", 360, by_hand),
    ("cards-many", "widget=review_panel&session=waiting&lab&many=1000", 760, far_down),
    ("cards-hostile", "widget=review_panel&session=waiting&lab&hostile", 760, None),
    ("cards-hostile-narrow", "widget=review_panel&session=waiting&lab&dark&hostile&width=320", 360, chosen),
    ("console-huge", "session=waiting&lab&huge", 1280, None),
    ("prompt-closed", "session=new&lab", 1000, None),
    ("prompt-edited", "session=new&lab", 1000, prompt_edited),
    ("prompt-edited-dark", "session=new&lab&dark", 1000, prompt_edited),
    ("prompt-narrow", "session=offered&lab&width=320", 360, prompt_edited),
    ("prompt-narrow-dark", "session=offered&lab&dark&width=320", 360, prompt_edited),
    ("prompt-offered", "session=offered&lab", 1000, None),
    ("prompt-offered-dark", "session=offered&lab&dark", 1000, None),
    ("graph", "widget=graph_view&session=waiting&lab", 700, open_node),
    ("graph-dark", "widget=graph_view&session=waiting&lab&dark", 700, open_node),
    ("transcript", "widget=transcript&session=waiting", 600, None),
]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "shots")
    only = sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    address = serve()
    axe = (ROOT / "js/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
    bad = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        for name, query, width, act in SHOTS:
            if only and name not in only:
                continue
            page = browser.new_page(viewport={"width": width, "height": 900})
            page.on("pageerror", lambda error, name=name: print(f"{name}: {error}"))
            page.goto(f"{address}?{query}")
            page.wait_for_selector("body[data-ready]")
            page.wait_for_timeout(150)
            if act is not None:
                act(page)
            page.screenshot(path=str(folder / f"{name}.png"), full_page=True, timeout=90_000)
            page.evaluate(axe)
            rules = {rule: {"enabled": False} for rule in NOT_OURS}
            found = page.evaluate("rules => axe.run(document.querySelector('#views'), {rules, resultTypes: ['violations']})", rules)
            for violation in found["violations"]:
                bad += violation["impact"] in ("serious", "critical")
                nodes = [node["html"][:160] + " :: " + node["failureSummary"].replace("\n", " ")[:200] for node in violation["nodes"][:4]]
                print(name, violation["id"], violation["impact"], json.dumps(nodes, indent=1))
            page.close()
        browser.close()
    print(f"{bad} serious violations")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

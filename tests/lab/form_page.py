"""A page with the real bundle and no notebook: shows one card after another, and keeps what it sends."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from playwright.sync_api import Locator, Page, expect

STATIC = Path(__file__).parents[2] / "llm4s_notebook" / "static"
Json = Any
Place = tuple[str | int, ...]

# The model keeps requests and answers only what a view asks by itself; the bundle is loaded as anywidget loads it.
HOST = """
async ([script, dark]) => {
  const address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  // Cards take no press for a third of a second after they have moved, which here would be most of the time.
  const wait = window.setTimeout;
  window.setTimeout = (call, ms, ...given) => wait(call, ms === SETTLE ? 0 : ms, ...given);
  const { default: widget } = await import(address);
  let close = () => {};
  window.show = (state, drafts) => {
    close();
    const listeners = new Map();
    const emit = (event, ...given) => { for (const one of [...(listeners.get(event) ?? [])]) one(...given); };
    window.sent = [];
    window.reply = message => emit('msg:custom', message, []);
    const model = {
      get: key => ({ state, options: { read_only: false, view: 'panel' } })[key],
      on: (event, callback) => listeners.set(event, [...(listeners.get(event) ?? []), callback]),
      off: (event, callback) => listeners.set(event, (listeners.get(event) ?? []).filter(one => one !== callback)),
      send: request => {
        const { request_id, body } = JSON.parse(JSON.stringify(request));
        const later = message => queueMicrotask(() => window.reply({ request_id, ...message }));
        if (body.kind === 'hello') later({ kind: 'welcome', revision: state.revision, drafts, live: state.live });
        else if (body.kind === 'save_draft') later({ kind: 'done', said: '' });
        else window.sent.push(JSON.stringify({ request_id, body }));
      },
    };
    const el = document.querySelector('#view');
    el.replaceChildren();
    close = widget.render({ model, el });
  };
}
"""
SETTLE_MS = 350  # js/src/view/cards/guard.ts
POLICY = "default-src 'none'; script-src blob: 'nonce-x'; style-src 'unsafe-inline'"
CONTENT = """<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>
<body style="margin: 12px; {colours}"><div id="view" style="max-width: {width}px"></div></body>"""


class FormOnPage:
    """The form of one card, found by its places: what a person does to it, and what it shows."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page = page
        self.root = root

    # -- places ------------------------------------------------------------------------------------------------------

    def at(self, place: Place, part: str = "", attribute: str = "id") -> Locator:
        return self.root.locator(f'[{attribute}$="{_suffix(place)}{part}"]')

    def faults(self, place: Place) -> Locator:
        return self.at(place, "-faults")

    def head(self, place: Place) -> Locator:
        return self.root.locator(".llm4s-field-head").filter(has=self.page.locator(f'[id$="{_suffix(place)}-name"]'))

    def is_invalid(self, place: Place) -> bool:
        """Whether the control at a place says that it is invalid; a group of fields has no control and says nothing."""
        control = self.at(place).first
        if control.count() == 0 or control.evaluate("one => one.matches('button, .llm4s-key')"):
            return True
        return control.evaluate("one => (one.closest('[role=radiogroup]') ?? one).getAttribute('aria-invalid') === 'true'")

    def json_places(self) -> list[Place]:
        """The places that are drawn as JSON."""
        ids = self.root.locator("textarea.llm4s-json").evaluate_all("all => all.map(one => one.id)")
        return [tuple(json.loads(unquote(id[id.index("%5B") :]))) for id in ids]

    def shows_text(self, place: Place, value: Json) -> bool:
        """Whether the control at a place holds the value as a text, or hides it because it is a secret."""
        control = self.at(place)
        if control.count() == 0:
            return False
        return control.get_attribute("type") == "password" or control.input_value() == (
            value if isinstance(value, str) else json.dumps(value)
        )

    # -- what a person does ------------------------------------------------------------------------------------------

    def do(self, step: tuple[str, Place, Any]) -> None:
        what, place, words = step
        {
            "write": self.write,
            "choose": self.choose,
            "kind": self.kind,
            "nothing": self.nothing,
            "add": lambda at, _: self.at(at).click(),
            "remove": lambda at, _: self._beside(at, "remove"),
            "leave out": lambda at, _: self._beside(at, "leave out"),
            "name": self.name,
        }[what](place, words)

    def write(self, place: Place, text: str) -> None:
        self.at(place).fill(text)

    def choose(self, place: Place, words: str) -> None:
        if self.at(place, attribute="name").count() == 0:
            self.at(place).select_option(label=words)
        else:
            self._pick(place, "", words)

    def kind(self, place: Place, words: str) -> None:
        self._pick(place, "-kind", words)

    def nothing(self, place: Place, wanted: bool) -> None:
        if not wanted:
            self.at(place).uncheck()
        elif self.at(place, "-null").count() > 0:
            self.at(place, "-null").check()
        else:
            self.kind(place, "nothing (null)")

    def name(self, place: Place, key: str) -> None:
        control = self.at(place)
        if control.evaluate("one => one.matches('button')"):
            control.click()
            control = self.at(place)
        if control.evaluate("one => one.matches('select')"):
            control.select_option(label=key)
        else:
            control.fill(key)
        control.locator("xpath=..").get_by_role("button", name="Add", exact=True).click()

    def _pick(self, place: Place, part: str, words: str) -> None:
        label = self.root.locator("label.llm4s-choice").filter(has=self.page.locator(f'[name$="{_suffix(place)}{part}"]'))
        label.filter(has_text=re.compile(f"^\\s*{re.escape(words)}\\s*$")).click()

    def _beside(self, place: Place, words: str) -> None:
        field = self.page.locator(".llm4s-field").filter(has=self.page.locator(f'[id$="{_suffix(place)}-name"]')).last
        field.get_by_text(words, exact=True).first.click()


class FormPage(FormOnPage):
    """The card that the page shows now, with its form open."""

    def __init__(self, page: Page, *, width: int = 900, dark: bool = False) -> None:
        super().__init__(page, page.locator("[data-card]"))
        self.complaints: list[str] = []
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        colours = "background: #111; color: #eee" if dark else "background: #fff"
        style = (STATIC / "llm4s.css").read_text(encoding="utf-8")
        page.set_content(CONTENT.format(policy=POLICY, style=style, width=width, colours=colours))
        page.evaluate(HOST.replace("SETTLE", str(SETTLE_MS)), [(STATIC / "review_panel.js").read_text(encoding="utf-8"), dark])

    def show(self, document: dict[str, Json], value: Json = None) -> FormPage:
        """Show a session's document of one card. A question's form begins with `value`, an approval's with the arguments."""
        (card,) = document["pending"]
        approval = card["kind"] == "APPROVAL"
        drafts = {} if approval else {card["id"]: {"decision": "reply", "value": value}}
        self.page.evaluate("([state, drafts]) => show(JSON.parse(state), JSON.parse(drafts))", [json.dumps(document), json.dumps(drafts)])
        self.root = self.page.locator(f'[data-card="{card["id"]}"]')
        if approval:
            self.press("edit")
        expect(self.root.locator(".llm4s-form")).to_be_visible()
        return self

    def press(self, testid: str) -> None:
        button = self.root.locator(f'[data-testid="{testid}"]')
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()

    def sent(self) -> list[Json]:
        """What a person's presses have sent, with every number as it was written."""
        return [json.loads(text) for text in self.page.evaluate("() => window.sent")]

    def submit(self) -> Json:
        """Press the button that sends; return the request, or None where the form keeps it."""
        self.press("submit-card")
        sent = self.sent()
        return sent[-1] if sent else None

    def reply(self, message: Json) -> None:
        self.page.evaluate("message => reply(JSON.parse(message))", json.dumps(message))


def _suffix(place: Place) -> str:
    """The end of the id that a form gives a place: encodeURIComponent of its JSON."""
    return quote(json.dumps(list(place), separators=(",", ":"), ensure_ascii=False), safe="-_.!~*'()")

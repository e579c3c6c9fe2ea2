"""What a person does with a console on the page: fill cards in, send them, click the graph."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, expect

from .driver import SECONDS, Notebook


class ConsolePage:
    """The console that a cell of the open notebook shows."""

    def __init__(self, notebook: Notebook, cell: int) -> None:
        self.notebook = notebook
        self.cell = cell
        self.root = notebook.cell(cell).locator('[data-testid="console"]').first

    def wait(self, *, timeout: float = 60) -> ConsolePage:
        expect(self.root).to_be_visible(timeout=timeout * SECONDS)
        return self

    def by(self, testid: str) -> Locator:
        return self.root.locator(f'[data-testid="{testid}"]')

    @property
    def cards(self) -> Locator:
        return self.root.locator("[data-card]")

    def card(self, kind: str, holding: str | re.Pattern[str] | None = None) -> Card:
        """The first card of a kind, with a text in it where one is given; waits for it."""
        found = self.root.locator(f'[data-card][data-kind="{kind}"]')
        if holding is not None:
            found = found.filter(has_text=holding)
        expect(found.first).to_be_visible()
        return Card(self, str(found.first.get_attribute("data-card")))

    def expect_status(self, status: str, *, timeout: float = 60) -> None:
        expect(self.by("status-line")).to_have_attribute("data-status", status, timeout=timeout * SECONDS)

    def expect_cards(self, count: int) -> None:
        expect(self.cards).to_have_count(count)

    # -- the graph ---------------------------------------------------------------------------------------------------

    def node(self, node_id: str) -> Locator:
        return self.root.locator(f'[data-testid="node-{node_id}"]')

    def hold(self, node_id: str, side: str) -> None:
        """Click a node and switch one of its breakpoints on; returns when the kernel has taken it."""
        self.node(node_id).click()
        switch = self.by(f"hold-{side}")
        switch.click()
        expect(switch).to_have_attribute("aria-checked", "true")


class Card:
    """One card, found again by the id of its interrupt."""

    def __init__(self, console: ConsolePage, interrupt_id: str) -> None:
        self.console = console
        self.id = interrupt_id
        self.root = console.by(f"card-{interrupt_id}")

    def by(self, testid: str) -> Locator:
        return self.root.locator(f'[data-testid="{testid}"]')

    def fill(self, label: str, text: str) -> Card:
        """Write into the field of that label."""
        self.root.get_by_label(label, exact=False).first.fill(text)
        return self

    def click(self, testid: str) -> Card:
        """Press a button as soon as it takes a press: it takes none while cards are moving."""
        button = self.by(testid).first
        expect(button).not_to_have_attribute("aria-disabled", "true")
        button.click()
        return self

    def send(self) -> None:
        self.click("submit-card").gone()

    def gone(self) -> None:
        """Wait until the card has left: its answer was taken."""
        expect(self.root).to_have_count(0)

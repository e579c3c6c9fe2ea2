"""Every state a card can be in, drawn by the shipped bundle in both themes: axe, and what must not happen however hostile a text is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from .dev_page import DevPage, shots

STATES = [
    ("waiting", "session=waiting", None),
    ("editing", "session=waiting", "busy_console"),
    ("chosen", "session=waiting", "chosen"),
    ("refused and stale", "session=waiting", "refused_and_stale"),
    ("busy", "session=waiting", "late"),
    ("lost", "session=waiting&dead", "lost"),
    ("read only", "session=waiting&readonly", None),
    ("done", "session=completed", None),
    ("bulk confirmation and help", "session=waiting", "help_and_confirm"),
    ("copied by hand", "session=waiting", "by_hand"),
    ("many", "session=waiting&many=1000", "far_down"),
    ("hostile", "session=waiting&hostile", "chosen"),
    ("narrow", "session=waiting&width=320", "busy_console"),
]


@pytest.fixture(scope="module")
def dev() -> ModuleType:
    return shots()


@pytest.fixture(scope="module")
def address(dev: ModuleType) -> str:
    return dev.serve()


@pytest.fixture
def opened(chromium: Browser, address: str) -> Iterator[Callable[..., DevPage]]:
    pages: list[DevPage] = []

    def open_page(query: str, **settings: Any) -> DevPage:
        pages.append(DevPage(chromium, address, query, **settings))
        return pages[-1]

    yield open_page
    for page in pages:
        page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("name", "query", "act"), STATES, ids=[name for name, _, _ in STATES])
def test_axe_finds_nothing_in_any_state(
    opened: Callable[..., DevPage], dev: ModuleType, theme: str, name: str, query: str, act: str | None
) -> None:
    """W5.5, W5.6: names, roles, contrast, in the panel of cards, with Lab's colours."""
    page = opened(f"widget=review_panel&lab&{query}{'&dark' if theme == 'dark' else ''}", width=360 if "width=320" in query else 900)
    if act is not None:
        getattr(dev, act)(page.page)
    assert page.axe(dev.NOT_OURS) == []
    assert page.complaints == []


@pytest.mark.parametrize("width", [320, 500, 1280])
def test_nothing_is_wider_than_its_cell(opened: Callable[..., DevPage], dev: ModuleType, width: int) -> None:
    """W5.5: from 320 px on, hostile texts and a line of 100,000 letters included."""
    for query in ("session=waiting", "session=waiting&hostile"):
        page = opened(f"widget=console&lab&width={width}&{query}", width=width + 40)
        if "hostile" not in query:
            dev.busy_console(page.page)
        assert page.page.evaluate("() => document.querySelector('.llm4s-root').scrollWidth") <= width


def test_hostile_text_runs_nothing_makes_no_button_and_leaves_its_box(opened: Callable[..., DevPage], dev: ModuleType) -> None:
    """W5.7: the text stands everywhere a model, a tool or a guardrail can put one."""
    page = opened("widget=console&lab&session=waiting&hostile")
    dev.chosen(page.page)
    assert page.page.evaluate("() => globalThis.owned") is None
    assert page.complaints == []
    assert page.page.locator("#views").locator("script, img, a, iframe, [onerror], [href]").count() == 0
    expect(page.by("card-2.0").get_by_test_id("approve")).to_have_count(1)
    expect(page.by("card-2.0").get_by_role("button", name="Approve", exact=False)).to_have_count(1)
    spilled = page.page.evaluate(
        """() => [...document.querySelectorAll('[data-card]')].filter(card => {
            const box = card.getBoundingClientRect();
            return [...card.querySelectorAll('bdi, span, button')].some(one => one.getBoundingClientRect().right > box.right + 1
                && !one.closest('.llm4s-data, .llm4s-block'));
        }).map(card => card.dataset.card)"""
    )
    assert spilled == []


def test_ten_views_of_one_session_lose_a_card_together(opened: Callable[..., DevPage]) -> None:
    """W1.2."""
    page = opened("widget=review_panel&session=waiting&views=10")
    expect(page.by("card-2.0")).to_have_count(10)
    page.by("card-2.0").nth(4).get_by_test_id("approve").click()
    expect(page.by("card-2.0")).to_have_count(0)
    assert len(page.requests("submit")) == 1
    expect(page.by("card-2.1")).to_have_count(10)


def test_a_result_of_five_million_letters_is_cut_and_says_so(opened: Callable[..., DevPage]) -> None:
    """W2.12: on the card and in the transcript; the page goes on answering."""
    page = opened("widget=console&session=waiting&huge")
    assert page.page.evaluate("() => document.body.textContent.length") < 200_000
    expect(page.by("transcript").locator(".llm4s-cut").first).to_contain_text("20,000 of 5,125,000 characters")
    page.by("transcript").get_by_test_id("show-more").first.click()
    expect(page.by("transcript").locator(".llm4s-cut").first).to_contain_text("120,000 of 5,125,000 characters")

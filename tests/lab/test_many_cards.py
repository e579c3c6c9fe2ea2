"""A thousand cards in a real browser: what is drawn, where it stands while one scrolls, and the way of the focus."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from .dev_page import DevPage, shots

AT_MOST = 60
ROOM = """() => {
  const list = document.querySelector('[data-testid="card-list"]');
  const box = list.getBoundingClientRect();
  const seen = [...list.querySelectorAll('[data-card]')].filter(card => {
    const own = card.getBoundingClientRect();
    return own.bottom > box.top && own.top < box.bottom;
  });
  return {
    drawn: list.querySelectorAll('[data-card]').length,
    seen: seen.map(card => [card.dataset.card, Math.round(card.getBoundingClientRect().top)]),
    top: list.scrollTop,
    end: list.scrollHeight - list.clientHeight,
  };
}"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[DevPage]:
    opened = DevPage(chromium, shots().serve(), "widget=review_panel&lab&session=waiting&many=1000")
    yield opened
    opened.close()


def settle(page: DevPage) -> None:
    """Two frames: scroll events come with the next one, and what they draw with the one after."""
    page.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")


def test_wherever_one_scrolls_there_are_cards_and_never_more_than_sixty(page: DevPage) -> None:
    """W2.12: by steps, by leaps, to the end and back."""
    for share in (0, 0.003, 0.01, 0.5, 0.51, 0.2, 1, 0.997, 0):
        page.by("card-list").evaluate("(list, share) => { list.scrollTop = share * list.scrollHeight; }", share)
        settle(page)
        settle(page)
        room = page.page.evaluate(ROOM)
        assert room["drawn"] <= AT_MOST
        assert room["end"] > 100_000, "the room of what is not drawn is missing"
        assert len(room["seen"]) >= 1, f"nothing is seen at {share} of the list"
    assert page.page.evaluate(ROOM)["seen"][0][0] == "9.0"
    assert page.complaints == []


def test_what_is_seen_stays_in_its_place_while_the_window_moves_and_cards_before_it_leave(page: DevPage) -> None:
    """Anchored by card: heights that were guessed wrong, and answers given elsewhere, move nothing on screen."""
    places: list[int] = []
    for _ in range(12):
        before = dict(page.page.evaluate(ROOM)["seen"])
        page.by("card-list").evaluate("list => { list.scrollTop += 500; }")
        settle(page)
        settle(page)
        after = dict(page.page.evaluate(ROOM)["seen"])
        places += [before[card] - after[card] for card in before.keys() & after.keys()]
    assert len(places) >= 6
    assert all(abs(moved - 500) <= 1 for moved in places), places
    before = dict(page.page.evaluate(ROOM)["seen"])
    page.page.evaluate("() => model.push({ pending: model.traits.state.pending.filter((_, at) => at > 30) })")
    settle(page)
    after = dict(page.page.evaluate(ROOM)["seen"])
    both = before.keys() & after.keys()
    assert both
    assert all(abs(before[card] - after[card]) <= 1 for card in both)


def test_the_keyboard_goes_through_the_window_and_typing_in_a_card_survives_a_scroll(page: DevPage) -> None:
    """W5.6: j fifty times, r on the way; the field keeps its focus and its text though its card is far away."""
    keys = page.page.keyboard
    page.by("panel").focus()
    for _ in range(50):
        keys.press("j")
    focused = page.page.evaluate("() => document.activeElement.dataset.card")
    assert focused == page.page.evaluate("() => model.traits.state.pending.filter(card => card.kind === 'APPROVAL')[49].id")
    keys.press("r")
    reason = page.by(f"card-{focused}").get_by_test_id("reject-reason")
    expect(reason).to_be_focused()
    page.by("card-list").evaluate("list => { list.scrollTop = 150000; }")
    settle(page)
    keys.press("End")
    keys.type(" at all")
    expect(reason).to_be_focused()
    assert reason.input_value().endswith("it was not run at all")
    assert page.page.evaluate(ROOM)["drawn"] <= AT_MOST
    keys.press("Control+Enter")
    expect(page.by(f"card-{focused}")).to_have_count(0)
    assert [len(body["decisions"]) for body in page.requests("submit")] == [1]
    following = page.page.evaluate("() => document.activeElement.dataset.card")
    assert following == page.page.evaluate("() => model.traits.state.pending.filter(card => card.kind === 'APPROVAL')[49].id")


def test_all_are_answered_by_one_submit(page: DevPage) -> None:
    """W2.6: approve all, of which two dozen are drawn."""
    page.by("approve-all").click()
    expect(page.by("confirm")).to_have_text("Approve 334")
    expect(page.by("confirm")).not_to_have_attribute("aria-disabled", "true")
    page.by("confirm").click()
    expect(page.page.locator('[data-card][data-kind="APPROVAL"]')).to_have_count(0)
    assert [len(body["decisions"]) for body in page.requests("submit")] == [334]

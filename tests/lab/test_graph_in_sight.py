"""The canvas of the graph keeps the node that matters in sight, and leaves a person who has scrolled where they are (W3.4)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from .dev_page import DevPage, shots

ONLY = """id => model.push({ graph: { ...model.traits.state.graph, nodes: model.traits.state.graph.nodes.map(node => (
    { ...node, held: 0, waiting: 0, interrupts: [], status: node.id === id ? 'running' : 'idle' })) } })"""
IN_SIGHT = """id => {
    const [node, canvas] = [document.querySelector(`[data-node="${id}"]`), document.querySelector('.llm4s-canvas')];
    const [inner, outer] = [node.getBoundingClientRect(), canvas.getBoundingClientRect()];
    return inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;
}"""
SCROLLED = "() => { const canvas = document.querySelector('.llm4s-canvas'); return [canvas.scrollLeft, canvas.scrollTop]; }"


@pytest.fixture
def page(chromium: Browser) -> Iterator[DevPage]:
    """A graph alone, opened wide, whose tool calls run; the canvas is narrow enough for a scrollbar only when the window is."""
    opened = DevPage(chromium, shots().serve(), "widget=graph_view&session=running&lab", width=1280)
    yield opened
    opened.close()


def run_only(page: DevPage, node: str) -> None:
    page.page.evaluate(ONLY, node)
    expect(page.by(f"node-{node}")).to_have_attribute("data-status", "running")


def narrow(page: DevPage, width: int) -> None:
    page.page.set_viewport_size({"width": width, "height": 900})
    two_frames(page)  # of two sizes within one frame the browser tells of neither


def two_frames(page: DevPage) -> None:
    page.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_a_canvas_opened_wide_and_made_narrow_still_shows_the_node_that_runs(page: DevPage) -> None:
    """W3.4, W5.5: the notebook's column is dragged; and dragged back and forth again."""
    run_only(page, "release/call-tool")
    for width in (320, 1280, 320):
        narrow(page, width)
        page.page.wait_for_function(IN_SIGHT, arg="release/call-tool")
    assert page.page.evaluate(SCROLLED)[0] > 0
    assert page.complaints == []


def test_the_view_goes_with_the_turn_until_the_person_scrolls(page: DevPage) -> None:
    """W3.3, W3.4: and where nothing runs any more it stays where the turn was last."""
    narrow(page, 320)
    run_only(page, "release/call-tool")
    page.page.wait_for_function(IN_SIGHT, arg="release/call-tool")
    there = page.page.evaluate(SCROLLED)
    page.page.evaluate(ONLY, "none of them")
    expect(page.by("node-release/call-tool")).to_have_attribute("data-status", "idle")
    assert page.page.evaluate(SCROLLED) == there
    run_only(page, "input")
    page.page.wait_for_function(IN_SIGHT, arg="input")

    page.page.evaluate("() => { document.querySelector('.llm4s-canvas').scrollLeft = 5; }")
    run_only(page, "release/call-tool")
    two_frames(page)
    assert page.page.evaluate(SCROLLED)[0] == 5
    assert page.complaints == []


def test_the_view_stays_while_the_person_is_at_a_node_of_it(page: DevPage) -> None:
    """W3.4, W6: what somebody is about to open does not move from under the pointer, nor the focus out of sight."""
    run_only(page, "input")
    narrow(page, 320)
    page.by("node-input").focus()
    run_only(page, "release/call-tool")
    two_frames(page)
    assert page.page.evaluate(IN_SIGHT, "input")
    assert not page.page.evaluate(IN_SIGHT, "release/call-tool")

    page.page.evaluate("() => document.activeElement.blur()")
    run_only(page, "release/model")
    run_only(page, "release/call-tool")
    page.page.wait_for_function(IN_SIGHT, arg="release/call-tool")
    assert page.complaints == []


def test_a_turn_that_is_over_is_opened_at_its_end(page: DevPage) -> None:
    """W3.4: in a large graph the entry may be far from everything that happened; here the canvas is too small for both."""
    page.page.evaluate(
        """() => {
            cleanup();
            const nodes = model.traits.state.graph.nodes.map(node => ({ ...node, held: 0, waiting: 0, interrupts: [],
                status: ['input', 'release/model', 'release/finish'].includes(node.id) ? 'done' : 'idle' }));
            model.push({ graph: { ...model.traits.state.graph, nodes } });
            const el = document.createElement('div');
            const sheet = document.createElement('style');
            sheet.textContent = '.llm4s-root .llm4s-canvas { height: 150px; }';
            document.querySelector('#views').replaceChildren(sheet, el);
            widget.render({ model, el });
        }"""
    )
    page.page.wait_for_function(IN_SIGHT, arg="release/finish")
    assert not page.page.evaluate(IN_SIGHT, "input")
    assert page.complaints == []

from __future__ import annotations

from harness.browser import Samples, chromium

REPEATS = 7
MEASURE = """async repeats => {
  const frame = () => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)));
  const found = { first_paint_us: [], typed_us: [], leap_us: [], drawn: [] };
  for (let count = 0; count < repeats; count += 1) {
    globalThis.cleanup();
    await frame();
    const el = document.querySelector('#views').appendChild(document.createElement('div'));
    let start = performance.now();
    globalThis.cleanup = widget.render({ model, el });
    found.first_paint_us.push(await frame() - start);
    await new Promise(done => setTimeout(done, 200));
    found.drawn.push(el.querySelectorAll('[data-card]').length);
    const card = el.querySelector('[data-card]');
    if (!card.querySelector('[data-testid=reject-reason]')) card.querySelector('[data-testid=reject]').click();
    await frame();
    const field = card.querySelector('[data-testid=reject-reason]');
    field.focus();
    for (const letter of 'because') {
      start = performance.now();
      document.execCommand('insertText', false, letter);
      found.typed_us.push(await frame() - start);
    }
    const list = el.querySelector('[data-testid=card-list]');
    start = performance.now();
    list.scrollTop = list.scrollHeight * (count + 1) / (repeats + 1);
    await frame();
    found.leap_us.push(await frame() - start);
    document.activeElement.blur();
  }
  return found;
}"""


def seen(cards: int) -> dict[str, Samples]:
    with chromium() as browser:
        from tests.lab.dev_page import DevPage, shots

        page = DevPage(browser, shots().serve(), f"widget=review_panel&lab&session=waiting&many={cards}")
        found = page.page.evaluate(MEASURE, REPEATS)
        assert page.complaints == [], page.complaints
        return found

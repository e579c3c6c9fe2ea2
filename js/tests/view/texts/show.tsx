import { act, within } from "@testing-library/preact";
import { afterEach, vi } from "vitest";
import textReview from "../../../src/widgets/text_review";
import type { TextsState } from "../../../src/wire/texts";
import { FakeTexts } from "../../support/texts";

const open: (() => void)[] = [];

afterEach(() => {
  for (const close of open.splice(0)) close();
  document.body.replaceChildren();
  vi.useRealTimers();
});

export const SOME = ["first guaranteed", "second guaranteed", "third guaranteed", "fourth guaranteed"];

/** A text review on the page, whose kernel has answered everything so far. */
export async function showTexts(texts: readonly string[] = SOME, change: Partial<TextsState> = {}, { settled = true } = {}) {
  const fake = new FakeTexts(texts, change);
  const shown = await viewTexts(fake);
  if (settled) await fake.settle();
  return { fake, ...shown };
}

/** One more view of the same model. */
export async function viewTexts(fake: FakeTexts) {
  const el = document.createElement("div");
  document.body.appendChild(el);
  let close = () => {};
  await act(() => {
    close = textReview.render({ model: fake.model, el });
  });
  open.push(() => close());
  const page = within(el);
  const row = (position: number) => el.querySelector<HTMLElement>(`[role="option"][data-position="${position}"]`);
  return { el, page, row, list: () => page.getByTestId("texts-list"), shown: () => page.getByTestId("texts-detail").dataset.position };
}

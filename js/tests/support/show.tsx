import { act, within } from "@testing-library/preact";
import { afterEach, vi } from "vitest";
import consoleWidget from "../../src/widgets/console";
import type { Options, SessionState } from "../../src/wire/index";
import { FakeModel } from "./fake_model";
import { readSession } from "./fixture";

const open: (() => void)[] = [];

afterEach(() => {
  for (const close of open.splice(0)) close();
  document.body.replaceChildren();
  vi.useRealTimers();
});

type Widget = typeof consoleWidget;

/** Show a view of a model on the page. The kernel has said welcome unless `greeted` is false. */
export async function view(fake: FakeModel, { widget = consoleWidget as Widget, greeted = true, into = document.body as Node } = {}) {
  const el = document.createElement("div");
  into.appendChild(el);
  let close = () => {};
  await act(() => {
    close = widget.render({ model: fake.model, el });
  });
  const cleanup = async () => {
    await act(() => close());
    close = () => {};
  };
  open.push(() => close());
  if (greeted) await fake.welcome();
  const page = within(el);
  return { el, page, cleanup, card: (id: string) => within(page.getByTestId(`card-${id}`)) };
}

/** A session of the fixtures in a view, with what differs. */
export async function show(change: Partial<SessionState> = {}, options?: Partial<Options>, widget: Widget = consoleWidget) {
  const fake = new FakeModel({ ...readSession(), ...change }, { read_only: false, view: "console", ...options });
  return { fake, ...(await view(fake, { widget })) };
}

export async function press(element: Element, key: string, more: KeyboardEventInit = {}) {
  await act(() => {
    element.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, composed: true, ...more }));
  });
}

/** A click of a real pointer: down, up and click on one element. */
export async function click(element: Element) {
  await act(() => {
    element.dispatchEvent(new Event("pointerdown", { bubbles: true, composed: true }));
    element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, composed: true, detail: 1 }));
  });
}

export async function type(element: Element, text: string) {
  await act(() => {
    (element as HTMLInputElement).value = text;
    element.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

export async function tick(ms: number) {
  await act(async () => {
    await vi.advanceTimersByTimeAsync(ms);
  });
}

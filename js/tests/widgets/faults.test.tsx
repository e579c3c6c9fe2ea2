import { act } from "@testing-library/preact";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Desk } from "../../src/bridge/desk";
import { Link } from "../../src/bridge/link";
import type { PendingCard } from "../../src/wire/index";
import { readSession } from "../support/fixture";
import { click, press, show, type } from "../support/show";

afterEach(() => vi.restoreAllMocks());

type Shown = Awaited<ReturnType<typeof show>>;

/** Every method of the desk that a handler calls: what a person does to get there, and the session in which they can. */
const HANDLERS: [
  keyof Desk & ("submit" | "setDraft" | "run" | "cancel" | "recover" | "abandon" | "setHold"),
  string,
  (shown: Shown) => Promise<void>,
][] = [
  ["submit", "waiting", ({ card }) => click(card("2.0").getByTestId("approve"))],
  [
    "submit",
    "waiting",
    async ({ page }) => {
      if (page.queryByTestId("take-back") === null) await press(page.getByTestId("card-2.0"), "a");
      await press(page.getByTestId("panel"), "Enter", { ctrlKey: true });
    },
  ],
  ["setDraft", "waiting", ({ card }) => click(card("2.0").getByTestId("edit"))],
  ["setDraft", "waiting", ({ page }) => press(page.getByTestId("card-2.0"), "e")],
  ["setDraft", "waiting", ({ card }) => type(card("2.2").getByLabelText("start"), "x")],
  [
    "run",
    "new",
    async ({ page }) => {
      await type(page.getByTestId("prompt"), "go");
      await click(page.getByTestId("run"));
    },
  ],
  ["cancel", "running", ({ page }) => click(page.getByTestId("cancel"))],
  ["recover", "failed", ({ page }) => click(page.getByTestId("recover"))],
  ["abandon", "failed", ({ page }) => click(page.getByTestId("abandon")).then(() => click(page.getByTestId("abandon-sure")))],
  [
    "setHold",
    "waiting",
    async ({ page }) => {
      await click(page.getByTestId("node-release/model"));
      await click(page.getByTestId("hold-after"));
    },
  ],
];

describe("an error in a handler (F33)", () => {
  it.each(HANDLERS)("%s in a session that is %s: is shown in the view, and the next click works", async (method, name, doIt) => {
    const shown = await show(readSession(name));
    const broken = vi.spyOn(Desk.prototype, method as "cancel").mockImplementationOnce(() => {
      throw new TypeError(`${method} broke`);
    });
    await doIt(shown);
    await vi.waitFor(() => expect(shown.page.queryByTestId("refusal")).not.toBeNull());
    expect(shown.page.getByTestId("refusal").textContent).toContain(`TypeError: ${method} broke`);
    broken.mockRestore();
    await act(() => shown.fake.push({}));
    const works = vi.spyOn(Desk.prototype, method as "cancel");
    if (method === "abandon") await click(shown.page.getByTestId("abandon-sure"));
    else if (method === "setHold") await click(shown.page.getByTestId("hold-after"));
    else await doIt(shown);
    expect(works).toHaveBeenCalled();
  });

  it("in one that takes its time is shown too", async () => {
    const { page } = await show(readSession("new"));
    vi.spyOn(Desk.prototype, "run").mockRejectedValueOnce(new Error("run broke later"));
    await type(page.getByTestId("prompt"), "go");
    await click(page.getByTestId("run"));
    await vi.waitFor(() => expect(page.getByTestId("refusal").textContent).toContain("run broke later"));
  });

  it("on a message or a document from the kernel is shown, and the next one is taken", async () => {
    const { fake, page } = await show();
    vi.spyOn(Link.prototype, "heard").mockImplementationOnce(() => {
      throw new RangeError("heard broke");
    });
    await fake.push({ status_text: "first" });
    expect(page.getByTestId("refusal").textContent).toContain("heard broke");
    await fake.push({ status_text: "second" });
    expect(page.getByTestId("status-line").textContent).toContain("second");
  });

  it("while a card is drawn stands in the card's place; the others work", async () => {
    const session = readSession();
    const bad = { ...(session.pending[0] as PendingCard), source: Symbol("no text") as never };
    const { fake, page, card } = await show({ pending: [bad, ...session.pending.slice(1)] });
    expect(page.getByTestId("broken").textContent).toContain('The card "deploy wants your approval" (2.0) cannot be drawn');
    await click(card("2.1").getByTestId("approve"));
    expect(fake.sent("submit")).toHaveLength(1);
  });

  it("while the whole view is drawn says so, and the view can be tried again", async () => {
    const { fake, page } = await show();
    const { graph } = fake.state;
    await fake.push({ graph: null as never });
    expect(page.getByTestId("broken").textContent).toContain("This view cannot be drawn");
    fake.state = { ...fake.state, graph };
    await fake.push({});
    await click(page.getByText("Try again"));
    expect(page.getByTestId("card-2.0")).toBeTruthy();
  });
});

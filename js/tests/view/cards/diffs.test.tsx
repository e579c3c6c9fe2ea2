import { describe, expect, it, vi } from "vitest";
import type { PendingCard } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, show, tick, type } from "../../support/show";

const LONG = "The release goes out on Tuesday evening, after the last backup, to all three regions at once.";
const notify = readSession().pending[1] as PendingCard;
const review = readSession().pending[4] as PendingCard;
const changes = (root: HTMLElement, tag: string) => [...root.querySelectorAll(`.llm4s-diff ${tag}`)].map((one) => one.textContent);

describe("what an edit changes (W2.2, W2.4)", () => {
  it("a long text among the arguments is compared word by word, a short one as a whole", async () => {
    const { page, card } = await show({ pending: [{ ...notify, arguments: { channel: "#releases", text: LONG } }] });
    await click(card("2.1").getByTestId("edit"));
    await type(card("2.1").getByLabelText("text"), LONG.replace("Tuesday", "Friday"));
    await type(card("2.1").getByLabelText("channel"), "#ops");
    const root = page.getByTestId("card-2.1");
    expect([changes(root, "del"), changes(root, "ins")]).toEqual([
      ["#releases", "Tuesday"],
      ["#ops", "Friday"],
    ]);
  });

  it("a long refused text is compared when typing pauses, not at every letter", async () => {
    vi.useFakeTimers();
    const text = "word ".repeat(2000);
    const { page, card } = await show({ pending: [{ ...review, guardrail: { ...review.guardrail, text } as never }] });
    await click(card("2.4").getByTestId("edit"));
    await type(card("2.4").getByTestId("edit-text"), `${text}more`);
    expect(changes(page.getByTestId("card-2.4"), "ins")).toEqual([]);
    await tick(300);
    expect(changes(page.getByTestId("card-2.4"), "ins")).toEqual(["more"]);
  });
});

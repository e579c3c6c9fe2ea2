import { act } from "@testing-library/preact";
import { describe, expect, it, vi } from "vitest";
import { readSession } from "../../support/fixture";
import { click, press, show, tick, type } from "../../support/show";

describe("the keyboard (W5.6)", () => {
  it("j and k go to the next and the previous card", async () => {
    const { page } = await show();
    const panel = page.getByTestId("panel");
    panel.focus();
    await press(panel, "j");
    expect(document.activeElement).toBe(page.getByTestId("card-2.0"));
    await press(page.getByTestId("card-2.0"), "j");
    expect(document.activeElement).toBe(page.getByTestId("card-2.1"));
    await press(page.getByTestId("card-2.1"), "k");
    await press(page.getByTestId("card-2.0"), "k");
    expect(document.activeElement).toBe(page.getByTestId("card-2.0"));
  });

  it("a, r and p choose, e opens, and Ctrl+Enter sends what is chosen", async () => {
    const { fake, page, card } = await show();
    await press(page.getByTestId("card-2.0"), "a");
    await press(page.getByTestId("card-2.1"), "r");
    expect(card("2.1").getByTestId("reject-reason")).toBeTruthy();
    await press(page.getByTestId("card-2.4"), "e");
    expect(card("2.4").getByTestId("edit-text")).toBeTruthy();
    await press(page.getByTestId("card-3.0"), "p");
    expect(fake.sent("submit")).toEqual([]);
    await press(page.getByTestId("card-3.0"), "Enter", { ctrlKey: true });
    expect(fake.sent("submit").map((body) => body.decisions)).toEqual([
      [
        { decision: "approve", id: "2.0" },
        { decision: "reject", id: "2.1", reason: readSession().pending[1]?.default_reject_reason },
        { decision: "proceed", id: "3.0" },
      ],
    ]);
  });

  it("a button that opens a field leads into it, a reason that stands there selected", async () => {
    const { card } = await show();
    const frame = () => act(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
    await click(card("2.1").getByTestId("reject"));
    await frame();
    const reason = card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement;
    expect(document.activeElement).toBe(reason);
    expect([reason.selectionStart, reason.selectionEnd]).toEqual([0, reason.value.length]);
    await type(reason, "not today");
    reason.setSelectionRange(3, 3);
    await click(card("2.1").getByTestId("reject"));
    await click(card("2.1").getByTestId("reject"));
    await frame();
    const again = card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement;
    expect(document.activeElement).toBe(again);
    expect(again.value.slice(again.selectionStart, again.selectionEnd)).toBe("");
    await click(card("2.1").getByTestId("edit"));
    await frame();
    expect(document.activeElement?.closest("[data-card]")?.getAttribute("data-card")).toBe("2.1");
    expect(document.activeElement?.matches("input, textarea, select")).toBe(true);
    await click(card("2.4").getByTestId("edit"));
    await frame();
    expect(document.activeElement).toBe(card("2.4").getByTestId("edit-text"));
  });

  it("Ctrl+Enter takes along what is begun on the card one is in, and nothing begun elsewhere", async () => {
    const { fake, page, card } = await show();
    await press(page.getByTestId("card-2.0"), "a");
    await press(page.getByTestId("card-2.1"), "e");
    await press(page.getByTestId("card-2.4"), "e");
    await type(card("2.4").getByTestId("edit-text"), "shorter");
    await press(card("2.4").getByTestId("edit-text"), "Enter", { ctrlKey: true });
    expect(fake.sent("submit").map((body) => body.decisions.map((decision) => decision.id))).toEqual([["2.0", "2.4"]]);
  });

  it.each([
    ["2.0", "a"],
    ["2.1", "r"],
    ["2.1", "e"],
    ["2.4", "a"],
    ["2.4", "r"],
    ["2.4", "e"],
    ["3.0", "p"],
  ])("a choice on card %s by %s is taken back by the same letter, and by Escape", async (id, key) => {
    const { fake, page } = await show();
    const element = page.getByTestId(`card-${id}`);
    const decided = () => element.classList.contains("llm4s-chosen") || element.querySelector(".llm4s-editor") !== null;
    for (const undo of [key, "Escape"]) {
      await press(element, key);
      expect(decided()).toBe(true);
      element.focus();
      await press(element, undo);
      expect(decided()).toBe(false);
    }
    await press(element, "Enter", { ctrlKey: true });
    expect(fake.sent("submit")).toEqual([]);
  });

  it("Escape in a field goes to its card and keeps what was typed", async () => {
    const { page, card } = await show();
    await press(page.getByTestId("card-2.1"), "r");
    await type(card("2.1").getByTestId("reject-reason"), "half");
    card("2.1").getByTestId("reject-reason").focus();
    await press(card("2.1").getByTestId("reject-reason"), "Escape");
    expect(document.activeElement).toBe(page.getByTestId("card-2.1"));
    await press(page.getByTestId("card-2.1"), "Escape");
    expect(card("2.1").queryByTestId("reject-reason")).toBeNull();
    await press(page.getByTestId("card-2.1"), "r");
    expect((card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe("half");
  });

  it("Ctrl+Enter in a field sends the card it is in, where nothing is chosen", async () => {
    const { fake, card } = await show();
    await click(card("2.1").getByTestId("reject"));
    await type(card("2.1").getByTestId("reject-reason"), "no");
    await press(card("2.1").getByTestId("reject-reason"), "Enter", { ctrlKey: true });
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reject", id: "2.1", reason: "no" }]);
  });

  it.each(["a", "r", "e", "p", "j", "k", "?"])("%s typed into a field is a letter", async (key) => {
    const { fake, page, card } = await show();
    await click(card("2.1").getByTestId("reject"));
    const before = page.getByTestId("panel").textContent;
    await press(card("2.1").getByTestId("reject-reason"), key);
    await press(card("2.2").getByLabelText("start"), key);
    expect(page.getByTestId("panel").textContent).toBe(before);
    expect(fake.sent("submit")).toEqual([]);
  });

  it("a key held down, or pressed while cards move, means nothing", async () => {
    vi.useFakeTimers();
    const { fake, page } = await show();
    await press(page.getByTestId("card-2.0"), "a", { repeat: true });
    await fake.push({ pending: readSession().pending.slice(1) });
    await press(page.getByTestId("card-2.1"), "a");
    await tick(400);
    await press(page.getByTestId("panel"), "Enter", { ctrlKey: true });
    expect(fake.sent("submit")).toEqual([]);
  });

  it.each([{ shiftKey: true }, { altKey: true }, { repeat: true }])("Enter with %j on a button is no click", async (how) => {
    const { card } = await show();
    const event = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...how });
    card("2.0").getByTestId("approve").dispatchEvent(event);
    expect(event.defaultPrevented).toBe(true);
    const plain = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
    card("2.0").getByTestId("approve").dispatchEvent(plain);
    expect(plain.defaultPrevented).toBe(false);
  });

  it("? shows the keys", async () => {
    const { page } = await show();
    await press(page.getByTestId("panel"), "?");
    expect(page.getByLabelText("Keys of this panel").textContent).toContain("Ctrl+Enter");
    await press(page.getByTestId("panel"), "?");
    expect(page.queryByLabelText("Keys of this panel")).toBeNull();
  });

  it("F30: the focused element itself carries the mark that keeps the notebook's shortcuts out, and no key leaves the view", async () => {
    const heard: string[] = [];
    const listen = (event: KeyboardEvent) => heard.push(event.key);
    document.addEventListener("keydown", listen);
    const { page, card } = await show();
    for (const element of [card("2.0").getByTestId("approve"), card("2.2").getByLabelText("start"), page.getByTestId("card-3.0")]) {
      element.focus();
      expect(element.getAttribute("data-lm-suppress-shortcuts")).toBe("true");
      await press(element, "d");
      await press(element, "Enter", { shiftKey: true });
    }
    document.removeEventListener("keydown", listen);
    expect(heard).toEqual([]);
  });
});

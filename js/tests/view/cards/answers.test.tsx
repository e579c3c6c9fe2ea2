import { act } from "@testing-library/preact";
import { describe, expect, it, vi } from "vitest";
import { readFixture, readSession } from "../../support/fixture";
import { click, press, show, tick, type } from "../../support/show";

const session = readSession();
const without = (...ids: string[]) => ({ pending: session.pending.filter((card) => !ids.includes(card.id)) });

describe("while an answer is on its way", () => {
  it("F37: says within a second that it was sent to a kernel that does not answer, keeps the draft, and takes it back", async () => {
    vi.useFakeTimers();
    const { fake, page, card } = await show();
    await click(card("2.0").getByTestId("reject"));
    await type(card("2.0").getByTestId("reject-reason"), "wait");
    await click(card("2.0").getByTestId("submit-card"));
    await tick(1001);
    expect(page.getByTestId("card-2.0").textContent).toContain("sent – kernel busy or not connected");
    expect(page.getByTestId("connection").hidden).toBe(false);
    expect((card("2.0").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe("wait");
    expect(fake.sent("submit")).toHaveLength(1);
    await fake.done("submit", "rejected deploy, 5 left");
    await fake.welcome({ "2.0": { decision: "reject", reason: "wait" } });
    await fake.done("save_draft");
    expect(page.getByTestId("card-2.0").textContent).not.toContain("kernel busy");
    expect(page.getByTestId("connection").hidden).toBe(true);
    expect(page.getByTestId("live").textContent).toBe("rejected deploy, 5 left");
  });

  it("F38: two clicks within a millisecond on item 1 of 2 leave item 2 untouched", async () => {
    const { fake, page, card } = await show({ pending: session.pending.slice(0, 2) });
    await click(card("2.0").getByTestId("approve"));
    await click(card("2.0").getByTestId("approve"));
    expect(fake.sent("submit")).toHaveLength(1);
    await fake.done("submit");
    await fake.push({ pending: session.pending.slice(1, 2) });
    // The second click of a double click lands on what has moved under the pointer.
    await click(card("2.1").getByTestId("approve"));
    expect(fake.sent("submit").flatMap((body) => body.decisions)).toEqual([{ decision: "approve", id: "2.0" }]);
    expect(page.getByTestId("card-2.1")).toBeTruthy();
  });

  it("F38: the same without a pointer, and a moment later the click counts", async () => {
    vi.useFakeTimers();
    const { fake, card } = await show({ pending: session.pending.slice(0, 2) });
    await act(() => card("2.0").getByTestId("approve").click());
    await fake.done("submit");
    await fake.push({ pending: session.pending.slice(1, 2) });
    await act(() => card("2.1").getByTestId("approve").click());
    expect(fake.sent("submit")).toHaveLength(1);
    expect(card("2.1").getByTestId("approve").getAttribute("aria-disabled")).toBe("true");
    await tick(400);
    expect(card("2.1").getByTestId("approve").hasAttribute("aria-disabled")).toBe(false);
    await act(() => card("2.1").getByTestId("approve").click());
    expect(fake.sent("submit")).toHaveLength(2);
  });

  it("F38: a click whose pointer went down elsewhere does not count", async () => {
    const { fake, card } = await show();
    await act(() => {
      card("2.0")
        .getByTestId("approve")
        .dispatchEvent(new Event("pointerdown", { bubbles: true }));
      card("2.1")
        .getByTestId("approve")
        .dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1 }));
    });
    expect(fake.sent("submit")).toEqual([]);
  });
});

describe("after an answer (W2.10)", () => {
  it("the next card takes the focus and the live region says what happened", async () => {
    const { fake, page, card } = await show();
    card("2.0").getByTestId("approve").focus();
    await click(card("2.0").getByTestId("approve"));
    await fake.done("submit", "approved deploy, 5 left");
    await fake.push(without("2.0"));
    expect(document.activeElement).toBe(page.getByTestId("card-2.1"));
    expect(page.getByTestId("live").textContent).toBe("approved deploy, 5 left");
  });

  it("the last card's place goes to the panel", async () => {
    const { fake, page, card } = await show({ pending: session.pending.slice(0, 1) });
    card("2.0").getByTestId("approve").focus();
    await click(card("2.0").getByTestId("approve"));
    await fake.push({ pending: [] });
    expect(document.activeElement).toBe(page.getByTestId("panel"));
  });

  it("a change made elsewhere moves no focus", async () => {
    const { fake, card } = await show();
    const elsewhere = document.body.appendChild(document.createElement("button"));
    card("2.0").getByTestId("approve").focus();
    elsewhere.focus();
    await fake.push(without("2.0"));
    expect(document.activeElement).toBe(elsewhere);
    card("3.0").getByTestId("proceed").focus();
    await fake.push(without("2.0", "2.1"));
    expect(document.activeElement).toBe(card("3.0").getByTestId("proceed"));
  });
});

describe("a refused submit (W2.7)", () => {
  const refusal = readFixture("messages/refused");

  it("puts each problem on its card and field; the other drafts stay", async () => {
    const { fake, page, card } = await show();
    await click(card("2.0").getByTestId("edit"));
    await type(card("2.0").getByLabelText("replicas"), "2");
    await click(card("2.1").getByTestId("reject"));
    await type(card("2.1").getByTestId("reject-reason"), "mine");
    await click(card("2.0").getByTestId("submit-card"));
    await fake.message({ ...refusal, request_id: fake.lastId("submit") });
    const problem = card("2.0").getByTestId("problem");
    expect(problem.textContent).toContain("greater than or equal to 1");
    expect(card("2.0").getByLabelText("replicas").getAttribute("aria-describedby")).toContain(problem.id);
    expect(document.activeElement).toBe(card("2.0").getByLabelText("replicas"));
    expect((card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe("mine");
    expect(page.getByTestId("refusal").textContent).toContain("change it and send again");
    await type(card("2.0").getByLabelText("replicas"), "3");
    expect(card("2.0").queryByTestId("problem")).toBeNull();
    await click(card("2.0").getByTestId("submit-card"));
    expect(fake.sent("submit")).toHaveLength(2);
  });

  it("of several: the first card with a problem takes the focus, unless the person has gone on to a card", async () => {
    const { fake, page, card } = await show();
    await click(page.getByTestId("together"));
    for (const id of ["2.0", "2.1"]) await click(card(id).getByTestId("approve"));
    page.getByTestId("submit-all").focus();
    await click(page.getByTestId("submit-all"));
    await fake.message({ ...refusal, request_id: fake.lastId("submit") });
    expect(document.activeElement).toBe(page.getByTestId("card-2.0"));
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 2 decisions");
    await click(page.getByTestId("submit-all"));
    card("2.2").getByLabelText("start").focus();
    await fake.message({ ...refusal, request_id: fake.lastId("submit") });
    expect(document.activeElement).toBe(card("2.2").getByLabelText("start"));
  });

  it("of several: one that cannot be sent keeps all of them here, and says why each time", async () => {
    const { fake, page, card } = await show();
    await click(page.getByTestId("together"));
    await click(card("2.0").getByTestId("approve"));
    await click(card("2.2").getByTestId("choose"));
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 1 decision");
    expect(card("2.2").getAllByTestId("problem").length).toBeGreaterThan(0);
    // Another view's draft may be chosen and no longer fit.
    await fake.message({ kind: "drafts", origin: null, drafts: { "2.3": { decision: "reply", value: {}, chosen: true } } });
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 2 decisions");
    await click(page.getByTestId("submit-all"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card("2.3").getByTestId("problem").textContent).toBe("Required.");
  });

  it("F41: says of an answered interrupt when and by whom", async () => {
    const { fake, page, card } = await show();
    await click(card("2.0").getByTestId("approve"));
    await fake.message({ ...refusal, request_id: fake.lastId("submit") });
    const stale = page.getByTestId("panel").querySelector(".llm4s-stale")?.textContent ?? "";
    expect(stale).toMatch(/Already answered at .+ by Ana: rejected purge/);
    await click(page.getByText("Dismiss"));
    expect(page.getByTestId("panel").querySelector(".llm4s-stale")).toBeNull();
  });
});

describe("an answer longer than the connection carries (W1.5)", () => {
  it("is refused before it is sent, with what was typed kept; a shorter one goes", async () => {
    const { fake, page, card } = await show();
    await click(card("2.4").getByTestId("edit"));
    const field = card("2.4").getByTestId("edit-text") as HTMLTextAreaElement;
    const text = `${"x".repeat(79)}\n`.repeat(64_000);
    await type(field, text);
    await click(card("2.4").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    await vi.waitFor(() => expect(page.getByTestId("refusal").textContent).toContain("This is 5.2 MB long"));
    expect(field.value).toBe(text);
    await type(field, "short");
    await click(card("2.4").getByTestId("submit-card"));
    expect(fake.sent("submit")).toHaveLength(1);
    expect(page.queryByTestId("refusal")).toBeNull();
  });
});

describe("drafts (W1.4)", () => {
  it("come back when a view renders, and are the same in every view", async () => {
    const { fake, card } = await show();
    await fake.message({ kind: "drafts", origin: null, drafts: { "2.1": { decision: "reject", reason: "theirs" } } });
    expect((card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe("theirs");
  });

  it("go to the session as they are typed, texts that are no value yet included", async () => {
    vi.useFakeTimers();
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("edit"));
    await type(card("2.0").getByLabelText("replicas"), "many");
    await tick(400);
    const saved = fake.sent("save_draft").at(-1);
    expect(saved).toMatchObject({ id: "2.0", draft: { decision: "edit" } });
    expect(JSON.stringify(saved?.draft)).toContain("“many” is not a number.");
    await fake.done("save_draft");
    await fake.message({ kind: "drafts", origin: fake.lastId("save_draft"), drafts: { "2.0": saved?.draft ?? null } });
    expect((card("2.0").getByLabelText("replicas") as HTMLInputElement).value).toBe("many");
  });

  it("whatever stands in a draft of another version, the cards are drawn", async () => {
    const { fake, page } = await show();
    await fake.message({
      kind: "drafts",
      origin: null,
      drafts: { "2.0": { decision: "explode", reason: 3, unread: [1], mode: "x" }, "2.1": [], "2.2": { value: { start: 5 } } },
    });
    expect(page.getByTestId("card-2.0")).toBeTruthy();
    expect(page.getByTestId("card-2.2").textContent).toContain("Does not fit");
  });
});

describe("nobody there (F24)", () => {
  it("says so, disables the decisions and leaves what was typed to copy", async () => {
    vi.useFakeTimers();
    const { fake, page, card } = await show();
    await click(card("2.1").getByTestId("reject"));
    await type(card("2.1").getByTestId("reject-reason"), "keep me");
    await click(card("2.0").getByTestId("approve"));
    await tick(5000);
    expect(page.getByTestId("connection").textContent).toContain("Not connected");
    for (const id of ["approve", "reject", "edit"]) expect((card("2.1").getByTestId(id) as HTMLButtonElement).disabled).toBe(true);
    const reason = card("2.1").getByTestId("reject-reason") as HTMLTextAreaElement;
    expect([reason.value, reason.readOnly, reason.disabled]).toEqual(["keep me", true, false]);
    await fake.welcome();
    expect((card("2.1").getByTestId("approve") as HTMLButtonElement).disabled).toBe(false);
  });

  it("W2.13: a read-only panel offers no decision", async () => {
    const { page, card } = await show({}, { read_only: true });
    const panel = page.getByTestId("panel");
    expect([...panel.querySelectorAll("button")].map((one) => one.textContent).filter((text) => !text?.startsWith("Copy "))).toEqual([]);
    expect(panel.querySelectorAll("input, textarea, select, [contenteditable]")).toHaveLength(0);
    for (const text of ["deploy wants your approval", "prod", "Which region is this for?", "312 characters", "I will deploy version"])
      expect(panel.textContent).toContain(text);
    expect(card("2.0").getByTestId("copy-arguments")).toBeTruthy();
  });

  it("W2.13: a read-only panel shows nothing of what a colleague has begun, and its keys decide nothing", async () => {
    const { fake, page } = await show({}, { read_only: true });
    await fake.message({ kind: "drafts", origin: null, drafts: { "2.1": { decision: "reject", reason: "theirs", chosen: true } } });
    expect(page.getByTestId("panel").textContent).not.toContain("theirs");
    expect(page.queryByTestId("submit-all")).toBeNull();
    for (const key of ["a", "r", "e", "p", "Escape"]) await press(page.getByTestId("card-2.1"), key);
    await press(page.getByTestId("card-2.1"), "Enter", { ctrlKey: true });
    expect([fake.sent("submit"), fake.sent("save_draft")]).toEqual([[], []]);
    await press(page.getByTestId("card-2.1"), "k");
    expect(document.activeElement).toBe(page.getByTestId("card-2.0"));
  });
});

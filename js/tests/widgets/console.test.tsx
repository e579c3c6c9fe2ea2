import axe from "axe-core";
import { describe, expect, it, vi } from "vitest";
import graphWidget from "../../src/widgets/graph_view";
import panelWidget from "../../src/widgets/review_panel";
import transcriptWidget from "../../src/widgets/transcript";
import { FakeModel } from "../support/fake_model";
import { readSession } from "../support/fixture";
import { click, press, show, tick, type, view } from "../support/show";

describe("the console (W4.3)", () => {
  it("says the state in words, where the thread lives, and what it used", async () => {
    const { page } = await show();
    const text = page.getByTestId("status-line").textContent ?? "";
    for (const part of ["waiting for a person: 6 things", "release-2.4.1", "in reviews.sqlite", "2 requests"]) expect(text).toContain(part);
  });

  it("counts the seconds of a run, with superstep and node", async () => {
    vi.useFakeTimers();
    const running = readSession("running");
    vi.setSystemTime(running.updated_at_ms);
    const { page, fake } = await show(running);
    expect(page.getByTestId("run-line").textContent).toBe("12 s · superstep 4 · release/model");
    await tick(3000);
    expect(page.getByTestId("run-line").textContent).toBe("15 s · superstep 4 · release/model");
    await fake.push({ run: null, running: false });
    expect(page.queryByTestId("run-line")).toBeNull();
  });

  it("goes by the kernel's clock where it differs from the browser's", async () => {
    vi.useFakeTimers();
    const running = readSession("running");
    vi.setSystemTime(running.updated_at_ms + 3_600_000);
    const { page, fake } = await show(running);
    await fake.push({});
    expect(page.getByTestId("run-line").textContent).toContain("12 s");
  });

  it("runs what was typed, by the button and by Ctrl+Enter, and keeps it when the kernel refuses", async () => {
    const { page, fake } = await show(readSession("new"));
    const prompt = page.getByTestId("prompt") as HTMLTextAreaElement;
    expect((page.getByTestId("run") as HTMLButtonElement).disabled).toBe(true);
    await type(prompt, "Release it");
    await press(prompt, "Enter");
    expect(fake.sent("run")).toEqual([]);
    await press(prompt, "Enter", { ctrlKey: true });
    expect(fake.sent("run")).toEqual([{ kind: "run", query: "Release it" }]);
    const error = { type: "ThreadBusy", what: "the thread is busy", where: "release-2.4.1", next_step: "wait for it", at_ms: 0 };
    await fake.message({ kind: "refused", request_id: fake.lastId("run"), error, problems: [] });
    expect(prompt.value).toBe("Release it");
    expect(page.getByTestId("refusal").textContent).toContain("wait for it");
    await click(page.getByTestId("run"));
    await fake.done("run", "started");
    expect(prompt.value).toBe("");
  });

  it("keeps the field and the focus while a turn begun here runs, and says how it ended", async () => {
    const { page, fake } = await show(readSession("new"));
    const prompt = page.getByTestId("prompt") as HTMLTextAreaElement;
    prompt.focus();
    await type(prompt, "Release it");
    await press(prompt, "Enter", { ctrlKey: true });
    await fake.push(readSession("running"));
    await fake.done("run", "started");
    expect(page.getByTestId("live").textContent).toBe("started");
    expect(document.activeElement).toBe(page.getByTestId("prompt"));
    expect((page.getByTestId("run") as HTMLButtonElement).disabled).toBe(true);
    const completed = readSession("completed");
    await fake.push(completed);
    expect(document.activeElement).toBe(page.getByTestId("prompt"));
    expect(page.getByTestId("live").textContent).toBe(completed.status_text);
  });

  it("leads from a field or button that goes away to what is next, and never to the page", async () => {
    const { page, fake } = await show(readSession("new"));
    page.getByTestId("prompt").focus();
    await type(page.getByTestId("prompt"), "Release it");
    await press(page.getByTestId("prompt"), "Enter", { ctrlKey: true });
    await fake.done("run", "started");
    await fake.push(readSession("running"));
    page.getByTestId("cancel").focus();
    await fake.push(readSession());
    expect(document.activeElement).toBe(page.getByTestId("panel"));
    page.getByTestId("abandon").focus();
    await click(page.getByTestId("abandon"));
    expect(document.activeElement?.textContent).toBe("Keep it");
    await click(document.activeElement as Element);
    expect(document.activeElement).toBe(page.getByTestId("abandon"));
  });

  it("offers cancel, recover and abandon where they apply", async () => {
    const running = await show(readSession("running"));
    await click(running.page.getByTestId("cancel"));
    expect(running.fake.sent("cancel")).toHaveLength(1);
    expect(running.page.queryByTestId("run")).toBeNull();
    expect(running.page.queryByTestId("abandon")).toBeNull();
    await running.cleanup();
    const failed = await show(readSession("failed"));
    await click(failed.page.getByTestId("recover"));
    await click(failed.page.getByTestId("abandon"));
    expect(failed.fake.sent("abandon")).toEqual([]);
    await click(failed.page.getByTestId("abandon-sure"));
    expect([failed.fake.sent("recover").length, failed.fake.sent("abandon").length]).toEqual([1, 1]);
  });

  it("shows an error with what happened, where, and what to do next, and a notice", async () => {
    const { page } = await show(readSession("failed"));
    const error = page.getByTestId("error").textContent ?? "";
    for (const part of ["ModelFailed", "connection reset", "release/model, superstep 4", "recover continues"])
      expect(error).toContain(part);
    expect(page.getByTestId("notice").textContent).toContain("Run the cell again");
  });

  it("an older document that arrives late changes nothing", async () => {
    const { fake, page } = await show();
    await fake.push({ status_text: "newer" });
    fake.state = { ...fake.state, revision: 0 };
    await fake.push({ status_text: "older" });
    expect(page.getByTestId("status-line").textContent).toContain("newer");
  });
});

describe("the transcript (W4.1)", () => {
  it("shows roles, calls with what came of them, edits by a person, and what did not run", async () => {
    const { page } = await show();
    const calls = [...page.getByTestId("transcript").querySelectorAll<HTMLElement>("[data-call]")];
    expect(calls.map((call) => [call.dataset.call, call.dataset.state])).toEqual([
      ["c1", "done"],
      ["c2", "not_run"],
      ["c3", "waiting"],
    ]);
    expect(calls[0]?.textContent).toContain("42 checks passed");
    expect(calls[1]?.textContent).toContain("not run");
    expect(calls[2]?.textContent).toContain("edited by a person");
    expect([...page.getByTestId("transcript").querySelectorAll<HTMLElement>("[data-role]")].map((one) => one.dataset.role)).toEqual([
      "user",
      "assistant",
      "assistant",
    ]);
  });

  it("shows a blocked turn as removed", async () => {
    const { page } = await show(readSession("blocked"));
    expect(page.getByTestId("removed").querySelector("del")?.textContent).toBe("Please release 2.4.1 to production.");
    expect(page.getByTestId("removed").textContent).toContain("removed from the thread");
  });

  it("shows the query while nothing of the turn is stored", async () => {
    const { page, fake } = await show({ messages: [] });
    expect(page.getByTestId("transcript").textContent).toContain("not stored yet");
    await fake.push({ messages: readSession().messages });
    expect(page.getByTestId("transcript").textContent).not.toContain("not stored yet");
  });

  it("gives a result to the latest call of its id: a call that waits shows none of an earlier turn's", async () => {
    const { messages } = readSession();
    const calling = messages.find((message) => message.tool_calls.some((call) => call.id === "c1"));
    const again = {
      ...calling,
      id: "again",
      tool_calls: calling?.tool_calls.filter((call) => call.id === "c1").map((call) => ({ ...call })) ?? [],
    };
    const { page } = await show({ messages: [...messages, { ...again, text: "", role: "assistant" } as (typeof messages)[number]] });
    const calls = [...page.getByTestId("transcript").querySelectorAll<HTMLElement>("[data-call=c1]")];
    expect(calls.map((call) => call.textContent?.includes("42 checks passed"))).toEqual([true, false]);
  });

  it("shows a result whose call is not in the thread", async () => {
    const messages = readSession().messages.filter((message) => message.role === "tool");
    const { page } = await show({ messages });
    expect(page.getByTestId("transcript").textContent).toContain("42 checks passed");
  });
});

describe("views", () => {
  it("W1.2: two views of one model show the same, each with ids of its own, and answer apart", async () => {
    const fake = new FakeModel(readSession());
    const first = await view(fake);
    const second = await view(fake);
    const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
    expect(ids.length).toBeGreaterThan(20);
    expect(new Set(ids).size).toBe(ids.length);
    await click(first.card("2.0").getByTestId("approve"));
    await fake.push({ pending: fake.state.pending.slice(1) });
    for (const one of [first, second]) expect(one.page.queryByTestId("card-2.0")).toBeNull();
    expect(fake.sent("submit")).toHaveLength(1);
    expect(fake.sent("hello")).toHaveLength(2);
  });

  it("a view that goes takes its listeners and its elements with it", async () => {
    const { fake, el, cleanup } = await show();
    await cleanup();
    expect(el.childElementCount).toBe(0);
    expect([...fake.listeners.values()].every((listeners) => listeners.size === 0)).toBe(true);
  });

  it("works in a shadow root", async () => {
    const host = document.body.appendChild(document.createElement("div"));
    const shadow = host.attachShadow({ mode: "open" });
    const fake = new FakeModel(readSession());
    const { page, card } = await view(fake, { into: shadow });
    await click(page.getByTestId("node-release/call-tool"));
    await click(page.getByTestId("node-detail").querySelectorAll("li button")[0] as HTMLElement);
    expect(shadow.activeElement).toBe(page.getByTestId("card-2.0"));
    await click(card("2.0").getByTestId("approve"));
    expect(fake.sent("submit")).toHaveLength(1);
  });

  it("has nothing to draw before the first document, and then draws it", async () => {
    const fake = new FakeModel({} as never);
    const { page } = await view(fake);
    expect(page.getByTestId("console").textContent).toContain("Loading");
    await fake.push(readSession());
    expect(page.getByTestId("card-2.0")).toBeTruthy();
  });

  it.each([
    ["review panel", panelWidget, "panel"],
    ["graph", graphWidget, "graph"],
    ["transcript", transcriptWidget, "transcript"],
  ] as const)("the %s stands alone", async (_, widget, testid) => {
    const { page } = await show({}, {}, widget);
    expect(page.getByTestId(testid)).toBeTruthy();
    expect(page.queryByTestId("console")).toBeNull();
  });

  it("an empty panel says that nothing waits", async () => {
    const { page } = await show({ pending: [], status_text: "finished" }, {}, panelWidget);
    expect(page.getByTestId("nothing").textContent).toContain("finished");
  });
});

describe("axe (W5.6)", () => {
  const rules = Object.fromEntries(
    ["color-contrast", "region", "page-has-heading-one", "landmark-one-main"].map((rule) => [rule, { enabled: false }]),
  );

  it("finds nothing in the console with all four kinds pending, an edit with its diff and a problem open", async () => {
    const { el, card, page } = await show();
    await click(card("2.0").getByTestId("edit"));
    await type(card("2.0").getByLabelText("version"), "2");
    await click(card("2.0").getByTestId("submit-card"));
    await click(card("2.1").getByTestId("reject"));
    await click(card("2.4").getByTestId("edit"));
    await click(page.getByTestId("node-release/call-tool"));
    await press(page.getByTestId("panel"), "?");
    const { violations } = await axe.run(el, { rules });
    expect(violations.map((violation) => [violation.id, violation.nodes.map((one) => one.html)])).toEqual([]);
  }, 30_000);
});

import { describe, expect, it, vi } from "vitest";
import type { PendingCard } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, press, show, tick, type } from "../../support/show";

const pendingOf = (...ids: string[]) => readSession().pending.filter((card) => ids.includes(card.id));
const [deploy, notify] = pendingOf("2.0", "2.1") as [PendingCard, PendingCard];

describe("cards of the four kinds", () => {
  it("W2.1: stand under their headings, with counts, in the order of pending", async () => {
    const { page } = await show();
    const panel = page.getByTestId("panel");
    expect([...panel.querySelectorAll(".llm4s-group-head")].map((head) => head.textContent)).toEqual([
      "Approvals 2",
      "Questions from tools 1",
      "Questions from middleware 2",
      "Breakpoints 1",
    ]);
    expect([...panel.querySelectorAll<HTMLElement>("[data-card]")].map((card) => card.dataset.card)).toEqual([
      "2.0",
      "2.1",
      "2.2",
      "2.3",
      "2.4",
      "3.0",
    ]);
  });

  it("W2.1: say what waits, where, since when, and who asked", async () => {
    const { page } = await show();
    const text = page.getByTestId("card-2.0").textContent ?? "";
    for (const part of [
      "deploy wants your approval",
      "release/call-tool",
      "asked by",
      "the tool itself",
      "since",
      "a production deployment needs a person",
    ]) {
      expect(text).toContain(part);
    }
    expect(page.getByTestId("card-3.0").textContent).toContain("after it ran");
  });

  it("W5.7: show what a model said as text, never as markup", async () => {
    const { page } = await show({
      pending: [{ ...notify, arguments: { text: "<button data-testid='approve'>Approve</button><img src=x onerror=alert(1)>" } }],
    });
    expect(page.getAllByTestId("approve")).toHaveLength(1);
    expect(page.getByTestId("card-2.1").querySelector("img")).toBeNull();
    expect(page.getByTestId("card-2.1").textContent).toContain("<img src=x onerror=alert(1)>");
  });

  it("W5.7: show characters that are not seen or turn the reading order", async () => {
    const { page } = await show({ pending: [{ ...notify, arguments: { path: "safe\u202Etxt.exe" } }] });
    expect(page.getByTestId("card-2.1").textContent).toContain("safeU+202Etxt.exe");
  });
});

describe("an approval", () => {
  it("is approved with one click", async () => {
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("approve"));
    expect(fake.sent("submit")).toEqual([{ kind: "submit", decisions: [{ decision: "approve", id: "2.0" }] }]);
  });

  it("W2.2: is rejected with a reason that is filled in already", async () => {
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("reject"));
    expect((card("2.0").getByTestId("reject-reason") as HTMLTextAreaElement).value).toBe(deploy.default_reject_reason);
    await click(card("2.0").getByTestId("submit-card"));
    await click(card("2.1").getByTestId("reject"));
    await type(card("2.1").getByTestId("reject-reason"), "not on a Friday");
    await click(card("2.1").getByTestId("submit-card"));
    expect(fake.sent("submit").flatMap((body) => body.decisions)).toEqual([
      { decision: "reject", id: "2.0", reason: deploy.default_reject_reason },
      { decision: "reject", id: "2.1", reason: "not on a Friday" },
    ]);
  });

  it("is not rejected without a reason", async () => {
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("reject"));
    await type(card("2.0").getByTestId("reject-reason"), "  ");
    await click(card("2.0").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card("2.0").getByTestId("problem").textContent).toContain("Say why");
  });

  it("W2.2: is edited as JSON, with what changes shown before it is sent", async () => {
    const { fake, card } = await show();
    await click(card("2.1").getByTestId("edit"));
    await click(card("2.1").getByText("JSON"));
    await type(card("2.1").getByTestId("raw-json"), "{");
    await click(card("2.1").getByTestId("submit-card"));
    expect(card("2.1").getByTestId("problem").textContent).toContain("not JSON");
    await type(card("2.1").getByTestId("raw-json"), '{"channel": "#ops", "text": "x"}');
    expect(card("2.1").getByTestId("diff").textContent).toContain("#releases → #ops");
    await click(card("2.1").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "edit", id: "2.1", arguments: { channel: "#ops", text: "x" } }]);
  });

  it("D25: an edit that does not fit is not sent, and the field says why", async () => {
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("edit"));
    await type(card("2.0").getByLabelText("version"), "2");
    await click(card("2.0").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card("2.0").getByTestId("problem").textContent).toContain("Must match");
    expect(card("2.0").getByLabelText("version").getAttribute("aria-invalid")).toBe("true");
    expect(document.activeElement).toBe(card("2.0").getByLabelText("version"));
  });

  it("F42: Enter in a text field submits nothing", async () => {
    const { fake, card } = await show();
    await click(card("2.0").getByTestId("edit"));
    await press(card("2.0").getByLabelText("version"), "Enter");
    await press(card("2.0").getByLabelText("version"), "Enter", { shiftKey: true });
    await click(card("2.1").getByTestId("reject"));
    await press(card("2.1").getByTestId("reject-reason"), "Enter");
    expect(fake.sent("submit")).toEqual([]);
    expect(document.querySelector("form")).toBeNull();
  });
});

describe("a question", () => {
  const asking = (answer_schema: object, lenient = false) => ({
    pending: [{ ...(pendingOf("2.2")[0] as PendingCard), lenient, answer_schema: answer_schema as never }],
  });

  it("W2.3: shows an object as labelled fields and a text as a text", async () => {
    const { page } = await show();
    expect(page.getByTestId("card-2.2").querySelector(".llm4s-question th")?.textContent).toBe("service");
    expect(page.getByTestId("card-2.3").querySelector(".llm4s-question")?.textContent).toBe("Which region is this for?");
  });

  it.each([
    [{ anyOf: [{ type: "string" }, { type: "null" }] }, "answer: nothing (null)", null],
    [{ type: "boolean" }, "no", false],
  ])("F05: %j answered with %s", async (schema, label, value) => {
    const { fake, card } = await show(asking(schema));
    await click(card("2.2").getByLabelText(label));
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value }]);
  });

  it("F05: an int answered with 0, and a list with []", async () => {
    const number = await show(asking({ type: "integer" }));
    await type(number.card("2.2").getByLabelText("answer"), "0");
    await click(number.card("2.2").getByTestId("submit-card"));
    expect(number.fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: 0 }]);
    await number.cleanup();
    const list = await show(asking({ type: "array", items: { type: "string" } }));
    await click(list.card("2.2").getByTestId("submit-card"));
    expect(list.fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: [] }]);
  });

  it('F16: a default of "" does not swallow what is typed', async () => {
    const { fake, card } = await show(asking({ type: "object", properties: { name: { type: "string", default: "" } } }));
    await type(card("2.2").getByLabelText("name"), "Ana");
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: { name: "Ana" } }]);
  });

  it("sends a text as it was typed, spaces and line ends included", async () => {
    const { fake, card } = await show(asking({ type: "string" }));
    await type(card("2.2").getByLabelText("answer"), "  two\nlines\t \n");
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: "  two\nlines\t \n" }]);
  });

  it("tells an empty text from no answer", async () => {
    const { fake, card } = await show(asking({ type: "string" }));
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    await click(card("2.2").getByText("use an empty text"));
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: "" }]);
  });

  it("W2.8: a tool's question takes JSON that does not fit, after a warning", async () => {
    const { fake, card } = await show(asking({ type: "integer", minimum: 5 }, true));
    await click(card("2.2").getByText("JSON"));
    await type(card("2.2").getByTestId("raw-json"), '"soon"');
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card("2.2").getByText(/does not fit what the tool expects/)).toBeTruthy();
    await click(card("2.2").getByTestId("send-anyway"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.2", value: "soon" }]);
  });

  it("W2.8: a middleware's question does not", async () => {
    const { fake, card } = await show(asking({ type: "integer", minimum: 5 }, false));
    await type(card("2.2").getByLabelText("answer"), "4");
    await click(card("2.2").getByTestId("submit-card"));
    expect(card("2.2").queryByTestId("send-anyway")).toBeNull();
    expect(fake.sent("submit")).toEqual([]);
  });

  it("turns from form to JSON and back without losing anything", async () => {
    const { fake, card } = await show();
    await type(card("2.2").getByLabelText("start"), "2026-12-01T22:00:00Z");
    await click(card("2.2").getByText("JSON"));
    expect(JSON.parse((card("2.2").getByTestId("raw-json") as HTMLTextAreaElement).value)).toEqual({ start: "2026-12-01T22:00:00Z" });
    await type(card("2.2").getByTestId("raw-json"), '{"start": "2026-12-02T22:00:00Z", "silent": false}');
    await click(card("2.2").getByText("Form"));
    expect((card("2.2").getByLabelText("start") as HTMLInputElement).value).toBe("2026-12-02T22:00:00Z");
    await click(card("2.2").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([
      { decision: "reply", id: "2.2", value: { start: "2026-12-02T22:00:00Z", silent: false } },
    ]);
  });
});

describe("a guardrail's review and a breakpoint", () => {
  it.each(["allow", "block"] as const)("W2.4: %s", async (verdict) => {
    const { fake, card } = await show();
    await click(card("2.4").getByTestId(verdict));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reply", id: "2.4", value: { verdict } }]);
  });

  it("W2.4: edit, with a diff against the refused text", async () => {
    const { fake, card, page } = await show();
    await click(card("2.4").getByTestId("edit"));
    expect(card("2.4").getByText("No change yet.")).toBeTruthy();
    await type(card("2.4").getByTestId("edit-text"), "Release 2.4.1 is out. Enough.");
    const diff = page.getByTestId("card-2.4").querySelector(".llm4s-diff");
    expect([...(diff?.querySelectorAll("ins") ?? [])].map((one) => one.textContent).join("")).toContain("Enough");
    await click(card("2.4").getByTestId("submit-card"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([
      { decision: "reply", id: "2.4", value: { verdict: "edit", text: "Release 2.4.1 is out. Enough." } },
    ]);
  });

  it("W2.4: a blank edit is not sent: it would close the turn", async () => {
    const { fake, card } = await show();
    await click(card("2.4").getByTestId("edit"));
    await type(card("2.4").getByTestId("edit-text"), "  ");
    await click(card("2.4").getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card("2.4").getByTestId("problem").textContent).toContain("press Block");
    expect(card("2.4").getByTestId("edit-text").getAttribute("aria-invalid")).toBe("true");
  });

  it("W2.5: a breakpoint shows the stored message, a result or the arguments, and proceeds", async () => {
    const { fake, card, page } = await show();
    expect(page.getByTestId("card-3.0").textContent).toContain("I will deploy version 2.4.1 to prod.");
    await click(card("3.0").getByTestId("proceed"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "proceed", id: "3.0" }]);
  });
});

describe("several at once (W2.6)", () => {
  it("are chosen and sent as one submit", async () => {
    const { fake, card, page } = await show();
    await click(page.getByTestId("together"));
    await click(card("2.0").getByTestId("approve"));
    await click(card("2.1").getByTestId("reject"));
    await click(card("2.1").getByTestId("choose"));
    await click(card("2.4").getByTestId("block"));
    expect(fake.sent("submit")).toEqual([]);
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 3 decisions");
    await click(page.getByTestId("submit-all"));
    expect(fake.sent("submit")).toEqual([
      {
        kind: "submit",
        decisions: [
          { decision: "approve", id: "2.0" },
          { decision: "reject", id: "2.1", reason: notify.default_reject_reason },
          { decision: "reply", id: "2.4", value: { verdict: "block" } },
        ],
      },
    ]);
  });

  it("a choice is taken back by pressing it again, by its own button, or by deciding otherwise", async () => {
    const { card, page } = await show();
    await click(page.getByTestId("together"));
    await click(card("2.0").getByTestId("approve"));
    await click(card("2.0").getByTestId("approve"));
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 0 decisions");
    await click(card("2.1").getByTestId("reject"));
    await click(card("2.1").getByTestId("choose"));
    await type(card("2.1").getByTestId("reject-reason"), "other");
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 1 decision");
    await click(card("2.1").getByTestId("edit"));
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 0 decisions");
    expect(card("2.1").getByTestId("begun").textContent).toContain("edit: begun");
    await click(card("3.0").getByTestId("proceed"));
    await click(card("3.0").getByTestId("take-back"));
    expect(card("3.0").getByTestId("proceed").hasAttribute("aria-pressed")).toBe(false);
    expect(page.getByTestId("submit-all").textContent).toBe("Submit 0 decisions");
  });

  it("F39: approve all approves only what was shown when it was asked for", async () => {
    vi.useFakeTimers();
    const { fake, page } = await show();
    await click(page.getByTestId("approve-all"));
    expect(page.getByTestId("confirm").textContent).toBe("Approve 2");
    await fake.push({ pending: [...fake.state.pending, { ...deploy, id: "4.0" }, { ...deploy, id: "4.1" }] });
    await tick(1000);
    expect(page.getByTestId("confirm").textContent).toBe("Approve 2");
    await click(page.getByTestId("confirm"));
    expect(fake.sent("submit").map((body) => body.decisions.map((decision) => decision.id))).toEqual([["2.0", "2.1"]]);
  });

  it("leaves out what has left since, and what a person has begun to edit", async () => {
    vi.useFakeTimers();
    const more = { ...deploy, id: "2.9" };
    const { fake, page, card } = await show({ pending: [deploy, notify, more] });
    await click(card("2.9").getByTestId("edit"));
    await type(card("2.9").getByLabelText("replicas"), "4");
    await click(page.getByTestId("reject-all"));
    await fake.push({ pending: [notify, more] });
    await tick(1000);
    expect(page.getByTestId("confirm").textContent).toBe("Reject 1");
    await click(page.getByTestId("confirm"));
    expect(fake.sent("submit")[0]?.decisions).toEqual([{ decision: "reject", id: "2.1", reason: notify.default_reject_reason }]);
  });

  it("asks once before it decides for all", async () => {
    const { fake, page } = await show();
    await click(page.getByTestId("reject-all"));
    await click(page.getByText("Not now"));
    expect(page.queryByTestId("confirm")).toBeNull();
    expect(fake.sent("submit")).toEqual([]);
  });
});

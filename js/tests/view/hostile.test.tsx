import { describe, expect, it, vi } from "vitest";
import { marks, oneLine, UNSEEN } from "../../src/view/unseen";
import type { PendingCard, SessionState } from "../../src/wire/index";
import { readSession } from "../support/fixture";
import { click, press, show } from "../support/show";

// A page without layout draws a long text slowly, and other test files run beside this one.
vi.setConfig({ testTimeout: 30_000 });

const SCRIPT = "<script>globalThis.owned = 1</script>";
const HANDLER = '<img src=x onerror="globalThis.owned = 1"><svg onload="globalThis.owned = 1">';
const LINK = '<a href="javascript:globalThis.owned=1">[approve](javascript:globalThis.owned=1)</a> javascript:globalThis.owned=1';
const BUTTON = '<button data-testid="approve" class="llm4s-button llm4s-primary">Approve</button>';
const TURNED = "pay \u202e0001\u202c \u2066to\u2069 \u200fme\u200e \u061c";
const UNSEEN_TEXT = "ad\u200bmin\u200d\u2060\ufeff \u00ad\u180e\u3164\u2800 \u{e0041}\u{e0042}";
const ANSI = "\u001b[2J\u001b[31mred\u001b[0m\u0007\u0008\u009b1m";
const STACKED = `z${"\u0336\u0300\u0301".repeat(40)}`;
const LINE = "x".repeat(100_000);
const ALONE = "\ud800 half";
const BREAKS = "one\u2028two\u2029three\u0085four";
const TEXTS = { SCRIPT, HANDLER, LINK, BUTTON, TURNED, UNSEEN_TEXT, ANSI, STACKED, LINE, ALONE, BREAKS };

/** A session in which one text stands wherever a model, a tool or a guardrail could have put it. */
function sessionOf(text: string): SessionState {
  const session = readSession();
  const pending = session.pending.map(
    (card): PendingCard => ({
      ...card,
      title: `${text} wants your approval`,
      agent: text,
      node: text,
      tool_name: text,
      middleware: text,
      hook: text,
      source: text,
      reason: text,
      arguments: { [text]: text, list: [text, { [text]: [text] }] },
      arguments_schema: { type: "object", title: text, properties: { [text]: { type: "string", description: text, default: text } } },
      question: { [text]: text },
      guardrail: card.guardrail && { ...card.guardrail, guardrail: text, reason: text, text },
      result: text,
      message: text,
      default_reject_reason: text,
    }),
  );
  const messages = session.messages.map((message) => ({
    ...message,
    text,
    tool_calls: message.tool_calls.map((call) => ({ ...call, name: text, arguments: { [text]: text } })),
  }));
  const nodes = session.graph.nodes.map((node) => ({ ...node, label: text, agent: text, id: node.role === "input" ? text : node.id }));
  const graph = { ...session.graph, graph_id: text, nodes };
  const error = { type: text, what: text, where: text, next_step: text, at_ms: 0 };
  return { ...session, pending, messages, graph, error, notice: text, query: text, answer: text, title: text, status_text: text };
}

describe.each(Object.entries(TEXTS))("%s wherever text of others is shown (W5.7)", (name, text) => {
  it("stays data: no element, script, link or button comes of it, and what is not seen is named", async () => {
    const { page, el, card } = await show(sessionOf(text));
    for (const id of ["2.0", "2.1"]) await click(card(id).getByTestId("edit"));
    await click(card("2.4").getByTestId("edit"));
    await press(page.getByTestId("panel"), "?");
    await click(page.getByTestId("approve-all"));
    expect((globalThis as { owned?: number }).owned).toBeUndefined();
    expect(el.querySelectorAll("script, img, a, iframe, object, embed, [onerror], [onload], [href], [src]")).toHaveLength(0);
    expect(card("2.0").getAllByTestId("approve")).toHaveLength(1);
    const shown = [...el.querySelectorAll(".llm4s-plain")].map((one) => one.textContent ?? "");
    expect(shown.length).toBeGreaterThan(20);
    for (const one of [
      el.textContent ?? "",
      ...[...el.querySelectorAll("[aria-label]")].map((one) => one.getAttribute("aria-label") ?? ""),
    ])
      expect(one.match(UNSEEN)).toBeNull();
    // Every text of others stands apart, so that its reading order ends with it.
    expect([...el.querySelectorAll(".llm4s-plain")].every((one) => one.tagName === "BDI")).toBe(true);
    if (name === "LINE") expect(Math.max(...shown.map((one) => one.length))).toBeLessThanOrEqual(20_100);
  });
});

describe("characters that are not seen", () => {
  it.each([
    ["admin\u200b", "admin[U+200B]"],
    ["a\u200db", "a[U+200D]b"],
    ["\u202egnp.exe", "[U+202E]gnp.exe"],
    ["\u001b[31m", "[U+001B][31m"],
    ["z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307", "z\u0300\u0301\u0302\u0303\u0304\u0305[U+0306 U+0307]"],
    ["\ud800!", "[U+D800]!"],
  ])("%j is shown as %j", (text, seen) => {
    expect(oneLine(text)).toBe(seen);
  });

  it.each(["नमस्ते क्‍ष", "می‌خواهم", "👩‍👩‍👧‍👦 ❤️ 1️⃣ 👍🏽", "e\u0301 ệ", "שָׁלוֹם", "မြန်မာ", "日本語\u3000全角"])("%s is left as it is", (text) => {
    expect(text.match(UNSEEN)).toBeNull();
  });

  it("a long run of them is one mark that counts them", () => {
    expect(marks("\u200b".repeat(100))).toBe("U+200B U+200B U+200B +97");
    expect(`a${"\u200b".repeat(100_000)}b`.match(UNSEEN)).toHaveLength(1);
  });

  it("a name on one line has no line ends, and is cut between characters", () => {
    expect(oneLine("a\n\n b\tc")).toBe("a b c");
    expect(oneLine("🙂".repeat(50), 9)).toBe("🙂🙂🙂🙂…");
  });
});

describe("what is long (W2.12)", () => {
  it("five million letters of a tool's result are cut, with their number, and shown further when asked", async () => {
    const session = readSession();
    const held = { ...(session.pending[5] as PendingCard), result: "r".repeat(5_000_000), message: null };
    const messages = session.messages.map((message) => (message.role === "tool" ? { ...message, text: "r".repeat(5_000_000) } : message));
    const { page, card, el } = await show({ pending: [held], messages });
    expect(el.textContent?.length).toBeLessThan(100_000);
    expect(card("3.0").getByText(/20,000 of 5,000,000 characters/)).toBeTruthy();
    await click(card("3.0").getByTestId("show-more"));
    expect(card("3.0").getByText(/120,000 of 5,000,000 characters/)).toBeTruthy();
    expect(page.getByTestId("transcript").textContent).toContain("20,000 of 5,000,000 characters");
  });

  it("five million letters are not put into a field; the card says how to edit them", async () => {
    const session = readSession();
    const review = session.pending[4] as PendingCard;
    const deploy = { ...(session.pending[0] as PendingCard), arguments: { notes: "n".repeat(5_000_000) }, arguments_schema: {} };
    const text = "t".repeat(5_000_000);
    const { card } = await show({ pending: [deploy, { ...review, guardrail: { ...review.guardrail, text } as never }], messages: [] });
    await click(card("2.4").getByTestId("edit"));
    expect(card("2.4").getByTestId("too-long").textContent).toContain("Copy it as Python");
    expect(card("2.4").queryByTestId("edit-text")).toBeNull();
    await click(card("2.0").getByTestId("edit"));
    await click(card("2.0").getByText("JSON"));
    expect(card("2.0").queryByTestId("raw-json")).toBeNull();
    expect(card("2.0").getByTestId("too-long")).toBeTruthy();
  });

  it("a value of a hundred thousand parts shows some hundreds of them, and more when asked", async () => {
    const notify = readSession().pending[1] as PendingCard;
    const args = { rows: Array.from({ length: 1000 }, (_, at) => ({ at, cells: Array.from({ length: 100 }, (_, cell) => cell) })) };
    const { page, card } = await show({ pending: [{ ...notify, arguments: args }], messages: [] });
    expect(page.getByTestId("card-2.1").querySelectorAll("td").length).toBeLessThan(500);
    await click(card("2.1").getByText("Show 100 more of 1000"));
    expect(page.getByTestId("card-2.1").querySelectorAll("td").length).toBeGreaterThan(600);
  });
});

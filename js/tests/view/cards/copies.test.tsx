import { afterEach, describe, expect, it, vi } from "vitest";
import { callName } from "../../../src/view/cards/name";
import { python } from "../../../src/view/python";
import type { Json, PendingCard } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, press, show, type } from "../../support/show";

const [deploy, notify, question, , review] = readSession().pending as [PendingCard, PendingCard, PendingCard, PendingCard, PendingCard];
const written: string[] = [];

function clipboard(writeText: ((text: string) => Promise<void>) | undefined) {
  vi.stubGlobal("navigator", { ...navigator, clipboard: writeText === undefined ? undefined : { writeText } });
}

afterEach(() => {
  vi.unstubAllGlobals();
  written.length = 0;
});

const takes = () =>
  clipboard(async (text) => {
    written.push(text);
  });

/** The Python that a card copies. */
async function line(card: ReturnType<Awaited<ReturnType<typeof show>>["card"]>) {
  await click(card.getByTestId("copy-python"));
  return written.at(-1);
}

/** Values that are written differently in Python and in JSON, or that are easily written wrong. */
const VALUES: Json[] = [
  null,
  true,
  false,
  0,
  -3,
  1.5,
  1e-7,
  9007199254740991,
  -9007199254740991,
  "",
  'say "it\'s"',
  "two\nlines\r\n\ttab\\n \u0000 \u001b[31m",
  "naïve Ω 🙂 👩‍👩‍👧 日本",
  "\u202egpj.exe \u200b\u200d\u2028\u2029\ufeff \u{e0041}",
  "\ud800 alone",
  "{not_a_format} %s $x `y`",
  "'''\"\"\"",
  [],
  {},
  [[], [{ a: [null, true] }]],
  { "": 1, "a b": 2, 'q"': 3, __proto__x: 4, "\n": 5, None: "None", ключ: "ü" },
];

describe("a value in Python", () => {
  it("is what Python reads as the same value; the lines go to Python's own tests", async () => {
    const lines = VALUES.map((value) => ({ value, python: python(value) }));
    await expect(`${JSON.stringify(lines, null, 1)}\n`).toMatchFileSnapshot("../../fixtures/python_lines.json");
  });

  it("has nothing in it that is not seen", () => {
    expect(VALUES.map(python).join("")).toMatch(/^[\t\n -~\u00a0-\u{1ffff}]*$/u);
    expect(VALUES.map(python).join("")).not.toMatch(/[\u202e\u200b\u2028\ufeff]/u);
  });

  it("leaves out what is not given", () => {
    expect(python(undefined)).toBe("...");
    expect(python("•".repeat(8))).toBe("...");
  });
});

describe("a card copied as Python (W2.11)", () => {
  it("is the answer as it is decided, edited or typed so far", async () => {
    takes();
    const { card, page } = await show();
    expect(await line(card("2.0"))).toBe('Answer.approve("2.0")');
    await click(card("2.1").getByTestId("reject"));
    await type(card("2.1").getByTestId("reject-reason"), 'not "now"\nlater');
    expect(await line(card("2.1"))).toBe('Answer.reject("2.1", "not \\"now\\"\\nlater")');
    await click(card("2.1").getByTestId("edit"));
    await type(card("2.1").getByLabelText("channel"), "#ops");
    expect(await line(card("2.1"))).toBe(
      'Answer.edit("2.1", {"channel": "#ops", "text": "2.4.1 goes out <b>now</b>\\nwatch the dashboards"})',
    );
    expect(await line(card("2.2"))).toMatch(/^Answer\.reply\("2\.2", \{/);
    await press(page.getByTestId("card-2.4"), "r");
    expect(await line(card("2.4"))).toBe('Answer.reply("2.4", {"verdict": "block"})');
    await press(page.getByTestId("card-2.4"), "e");
    await type(card("2.4").getByTestId("edit-text"), "fine");
    expect(await line(card("2.4"))).toBe('Answer.reply("2.4", {"verdict": "edit", "text": "fine"})');
    expect(await line(card("3.0"))).toBe('Answer.proceed("3.0")');
  });

  it("has what a question's form holds, true and null as Python says them, and `...` for what cannot be read", async () => {
    takes();
    const answer_schema = { type: "object", properties: { on: { type: "boolean" }, no: { type: "null" } } };
    const { card } = await show({ pending: [{ ...question, answer_schema }] });
    await click(card("2.2").getByText("JSON"));
    await type(card("2.2").getByTestId("raw-json"), '{"on": true, "no": null}');
    expect(await line(card("2.2"))).toBe('Answer.reply("2.2", {"on": True, "no": None})');
    await type(card("2.2").getByTestId("raw-json"), '{"on": tr');
    expect(await line(card("2.2"))).toBe('Answer.reply("2.2", ...)');
  });

  it("never has a secret in it, stored or typed", async () => {
    takes();
    const secret = { type: "string", format: "password", writeOnly: true };
    const arguments_schema = { type: "object", properties: { user: { type: "string" }, token: secret, other: secret } };
    const args = { user: "ana", token: "•".repeat(8), other: "•".repeat(9) };
    const { card } = await show({ pending: [{ ...deploy, arguments: args, arguments_schema }] });
    await click(card("2.0").getByTestId("edit"));
    await type(card("2.0").getByLabelText("token"), "hunter2");
    expect(await line(card("2.0"))).toBe('Answer.edit("2.0", {"user": "ana", "token": ..., "other": ...})');
    await click(card("2.0").getByTestId("copy-arguments"));
    expect(JSON.parse(written.at(-1) ?? "")).toEqual(args);
  });

  it("is not made where a number would lose digits: the card says so", async () => {
    takes();
    const { card } = await show({ pending: [{ ...deploy, arguments: { id: 2 ** 60 }, arguments_schema: {} }] });
    await click(card("2.0").getByTestId("copy-arguments"));
    expect(card("2.0").getByText(/cannot hold this number exactly/)).toBeTruthy();
    expect(await line(card("2.0"))).toBe('Answer.approve("2.0")');
    expect(written).toHaveLength(1);
  });
});

describe("a card's arguments copied (W2.11)", () => {
  it("are JSON, as they are", async () => {
    takes();
    const { card } = await show();
    await click(card("2.0").getByTestId("copy-arguments"));
    expect(JSON.parse(written[0] ?? "")).toEqual(deploy.arguments);
    await vi.waitFor(() => expect(card("2.0").getByTestId("copy-arguments").textContent).toBe("Copied"));
    expect(card("2.3").queryByTestId("copy-arguments")).toBeNull();
  });

  it.each([
    ["is missing", undefined],
    [
      "refuses",
      async () => {
        throw new DOMException("not allowed");
      },
    ],
  ])("where the clipboard %s, the text stands there, selected, until one leaves it", async (_, how) => {
    clipboard(how);
    const { card } = await show();
    await click(card("2.1").getByTestId("copy-arguments"));
    const text = (await card("2.1").findByTestId("copy-by-hand")) as HTMLTextAreaElement;
    await vi.waitFor(() => expect(document.activeElement).toBe(text));
    expect(JSON.parse(text.value)).toEqual(notify.arguments);
    expect([text.selectionStart, text.selectionEnd]).toEqual([0, text.value.length]);
    await press(text, "Escape");
    await vi.waitFor(() => expect(card("2.1").queryByTestId("copy-by-hand")).toBeNull());
  });
});

describe("a call that may destroy something (W2.2)", () => {
  it.each<[Json, string]>([
    [{ replicas: 3, version: "2.4.1", environment: "prod" }, "deploy to prod"],
    [{ Target: "db1", path: "/x" }, "deploy to db1"],
    [{ force: true, path: "/srv/data" }, "deploy: /srv/data"],
    [{ note: "x".repeat(41), days: 30 }, "deploy: 30"],
    [{ lines: "two\nlines", nested: { environment: "prod" } }, "deploy"],
    [{}, "deploy"],
    [[1], "deploy"],
    [{ environment: "\u202edorp\u200b" }, "deploy to [U+202E]dorp[U+200B]"],
  ])("with %j is named %s", (args, name) => {
    expect(callName({ ...deploy, arguments: args as never })).toBe(name);
  });

  it("is named on its button, on the button of its edit as edited, and beside the common submit", async () => {
    const { page, card } = await show();
    expect(card("2.0").getByTestId("approve").textContent).toBe("Approve deploy to prod");
    expect(card("2.1").getByTestId("approve").textContent).toBe("Approve");
    await click(card("2.0").getByTestId("edit"));
    await click(card("2.0").getByText("JSON"));
    await type(card("2.0").getByTestId("raw-json"), '{"environment": "staging"}');
    expect(card("2.0").getByTestId("submit-card").textContent).toBe("Run deploy to staging, with these arguments");
    await press(page.getByTestId("card-2.0"), "a");
    await press(page.getByTestId("card-2.1"), "a");
    expect(page.getByTestId("submit-all").parentElement?.textContent).toContain("Submit 2 decisionsruns deploy to prod");
  });

  it("is named in the question before all are approved", async () => {
    const { page } = await show();
    await click(page.getByTestId("approve-all"));
    expect([...page.getByRole("alertdialog").querySelectorAll("li")].map((one) => one.textContent)).toEqual([
      "deploy to prod",
      "notify to #releases",
    ]);
  });

  it("a guardrail's review and a question are never named so", () => {
    expect([question.destructive, review.destructive]).toEqual([false, false]);
  });
});

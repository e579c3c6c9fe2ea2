import { describe, expect, it } from "vitest";
import panel from "../../../src/widgets/review_panel";
import type { Json, JsonObject, PendingCard } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, show, type } from "../../support/show";

const question = readSession().pending[2] as PendingCard;

async function form(schema: JsonObject, draft?: Json) {
  const shown = await show({ pending: [{ ...question, lenient: false, answer_schema: schema }] }, {}, panel);
  if (draft !== undefined)
    await shown.fake.message({ kind: "drafts", origin: null, drafts: { [question.id]: { decision: "reply", value: draft } } });
  return { ...shown, card: shown.card(question.id) };
}

describe("schemas nobody should write", () => {
  it.each([
    ["requires itself", { $ref: "#/$defs/A", $defs: { A: { type: "object", properties: { a: { $ref: "#/$defs/A" } }, required: ["a"] } } }],
    ["is a union with itself", { $ref: "#/$defs/A", $defs: { A: { anyOf: [{ $ref: "#/$defs/A" }, { type: "null" }] } } }],
    ["refers to itself alone", { $ref: "#" }],
    ["refers to nowhere", { $ref: "https://example.org/schema" }],
    ["says nonsense", { type: "object", properties: { a: 5, b: null }, required: "a", additionalProperties: 3 } as unknown as JsonObject],
    ["has an empty choice", { enum: [] }],
    ["wants everything at once", { allOf: [{ type: "object" }, { type: "string" }] }],
    ["is an empty union", { anyOf: [] }],
  ])("one that %s is drawn", async (_, schema) => {
    const { card } = await form(schema as JsonObject);
    expect(card.getByTestId("submit-card")).toBeTruthy();
  });
});

describe("numbers a browser cannot hold", () => {
  it.each(["12345678901234567890", "[1e400]", '{"a": -9007199254740993}'])("%s is not sent as another number", async (text) => {
    const { fake, card } = await form({});
    await type(card.getByLabelText("answer"), text);
    await click(card.getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card.getByTestId("problem").textContent).toMatch(/cannot hold this number|too large/);
  });

  it("nor is one that came with the arguments", async () => {
    const { fake, card } = await form({ type: "object", properties: {} }, { order: 12345678901234567000 });
    await click(card.getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
  });
});

/** Numbers that look random and are the same every time. */
function sequence(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Next = (below: number) => number;

function anySchema(next: Next, depth = 0): JsonObject {
  const kinds = depth > 2 ? 6 : 11;
  const inner = () => anySchema(next, depth + 1);
  switch (next(kinds)) {
    case 0:
      return { type: "string", ...(next(2) ? { minLength: next(3) } : {}), ...(next(4) === 0 ? { format: "date" } : {}) };
    case 1:
      return { type: next(2) ? "integer" : "number", ...(next(2) ? { minimum: next(5) } : {}) };
    case 2:
      return { type: "boolean" };
    case 3:
      return { enum: ["a", 1, null, "b", true, "c"].slice(0, 1 + next(6)) };
    case 4:
      return { const: (["x", 2, null] as Json[])[next(3)] ?? null };
    case 5:
      return {};
    case 6:
      return { type: "array", items: inner(), ...(next(3) === 0 ? { uniqueItems: true } : {}) };
    case 7:
      return { type: "array", prefixItems: [inner(), inner()], minItems: 2, maxItems: 2 };
    case 8:
      return { anyOf: [inner(), inner(), ...(next(2) ? [{ type: "null" }] : [])] };
    case 9:
      return { type: "object", additionalProperties: inner() };
    default:
      return { type: "object", properties: { one: inner(), two: inner() }, required: next(2) ? ["one"] : ["one", "two"] };
  }
}

function anyValue(next: Next, depth = 0): Json {
  const plain: Json[] = ["", "a", "x y", "2026-01-01", 0, 1, 2.5, -3, true, false, null];
  const pick = next(depth > 2 ? 11 : 15);
  if (pick < 11) return plain[pick] ?? null;
  if (pick < 13) return Array.from({ length: next(3) }, () => anyValue(next, depth + 1));
  return Object.fromEntries(["one", "two", "three"].slice(0, next(4)).map((key) => [key, anyValue(next, depth + 1)]));
}

describe("any schema with any value", () => {
  it.each(Array.from({ length: 80 }, (_, seed) => seed))(
    "number %i: is drawn, and what is sent, if anything, is the value as it was",
    async (seed) => {
      const next = sequence(seed + 1);
      const schema = anySchema(next);
      const value = anyValue(next);
      const { fake, card } = await form(schema, value);
      await click(card.getByTestId("submit-card"));
      const sent = fake.sent("submit").flatMap((body) => body.decisions);
      if (sent.length > 0) expect(JSON.stringify(sent)).toBe(JSON.stringify([{ decision: "reply", id: question.id, value }]));
      else expect(card.getAllByTestId("problem").length).toBeGreaterThan(0);
      await click(card.getByText("JSON"));
      if (sent.length === 0) expect(JSON.parse((card.getByTestId("raw-json") as HTMLTextAreaElement).value)).toEqual(value);
    },
  );
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { apart, atKey } from "../../../src/view/form/apart";
import { takesExact, withNumbers } from "../../../src/view/form/exact";
import { isExact, type Path } from "../../../src/view/json";
import panel from "../../../src/widgets/review_panel";
import type { Json, JsonObject, PendingCard } from "../../../src/wire/index";
import { readFixture, readSession } from "../../support/fixture";
import { click, show, type } from "../../support/show";

const LARGE = "9007199254740993"; // a browser reads the number as ...992
const places = readFixture("exact_places") as unknown as { name: string; schema: JsonObject; value: Json; exact: boolean }[];

function pathOf(value: Json, path: Path = []): Path | null {
  if (value === "$") return path;
  const inner: [string | number, Json][] = Array.isArray(value) ? value.map((item, at) => [at, item]) : Object.entries(value as JsonObject);
  for (const [step, item] of inner) {
    const found = typeof item === "object" || item === "$" ? pathOf(item, [...path, step]) : null;
    if (found !== null) return found;
  }
  return null;
}

describe("a place that takes the digits of a number", () => {
  it.each(places)("$name: the same as in the kernel", ({ schema, value, exact }) => {
    expect(takesExact(schema, pathOf(value) ?? [])).toBe(exact);
    const held = JSON.parse(JSON.stringify(value).replace('"$"', `"${LARGE}"`)) as Json;
    const bigints = JSON.stringify(withNumbers(schema, held), (_, item) => (typeof item === "bigint" ? { n: String(item) } : item));
    expect(bigints.includes('"n"')).toBe(exact);
  });

  it.each([
    ["9007199254740993", true],
    ["-9007199254740993", true],
    ["9007199254740991", false],
    ["+9007199254740993", false],
    ["9007199254740993.0", false],
    ["123", false],
    [9007199254740992, false],
  ])("%j is such a text: %s", (value, exact) => {
    expect(isExact(value as Json)).toBe(exact);
  });
});

it("the schemas of a place do not double with each level of a union that leads to itself", () => {
  const node = () => ({ oneOf: ["A", "B", "C", "D"].map((name) => ({ $ref: `#/$defs/${name}` })) });
  const kind = () => ({ type: "object", properties: { left: node(), value: { type: "integer" } } });
  const schema = { ...node(), $defs: { A: kind(), B: kind(), C: kind(), D: kind() } };
  let members = apart(schema, schema);
  for (let level = 0; level < 4; level += 1) {
    const lefts = atKey(members, "left");
    expect(lefts).toHaveLength(4);
    members = lefts.flatMap((left) => apart(schema, left));
  }
  expect(takesExact(schema, ["left", "left", "left", "value"])).toBe(true);
});

const [deploy, , question] = readSession().pending as [PendingCard, PendingCard, PendingCard];
const order = { type: "object", properties: { id: { type: "integer", minimum: 1 }, note: { type: "string" } }, required: ["id"] };

async function asked(schema: JsonObject) {
  const shown = await show({ pending: [{ ...question, lenient: false, answer_schema: schema }] }, {}, panel);
  return { ...shown, card: shown.card(question.id) };
}

describe("a number that a browser cannot hold", () => {
  const written: string[] = [];

  afterEach(() => {
    vi.unstubAllGlobals();
    written.length = 0;
  });

  it.each([
    ["+9007199254740993", LARGE],
    ["12", 12],
  ])("W2.8: %s is sent as %j", async (text, id) => {
    const { fake, card } = await asked(order);
    await type(card.getByLabelText("id"), text);
    expect((card.getByLabelText("id") as HTMLInputElement).value).toBe(text);
    await click(card.getByTestId("submit-card"));
    const [sent] = fake.sent("submit") as unknown as { decisions: { value: Json }[] }[];
    expect(sent?.decisions[0]?.value).toEqual({ id });
  });

  it("is refused where a text could be meant by its digits", async () => {
    const { fake, card } = await asked({ type: "object", properties: { id: { anyOf: [{ type: "integer" }, { type: "string" }] } } });
    await click(card.getByLabelText("whole number"));
    await type(card.getByLabelText("id"), LARGE);
    await click(card.getByTestId("submit-card"));
    expect(fake.sent("submit")).toEqual([]);
    expect(card.getByTestId("problem").textContent).toMatch(/cannot hold this number/);
  });

  it("W2.2, W2.9: of the model's is shown, edited around and copied with every digit", async () => {
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText: async (text: string) => written.push(text) } });
    const card: PendingCard = { ...deploy, arguments: { id: LARGE, note: LARGE }, arguments_schema: order };
    const { fake, ...shown } = await show({ pending: [card] }, {}, panel);
    const of = shown.card(deploy.id);
    await click(of.getByTestId("copy-arguments"));
    expect(written.at(-1)).toBe(`{\n  "id": ${LARGE},\n  "note": "${LARGE}"\n}`);
    await click(of.getByTestId("edit"));
    expect((of.getByLabelText("id") as HTMLInputElement).value).toBe(LARGE);
    await type(of.getByLabelText("note"), "rent");
    expect(of.queryByTestId("problem")).toBeNull();
    await click(of.getByTestId("copy-python"));
    expect(written.at(-1)).toBe(`Answer.edit("${deploy.id}", {"id": ${LARGE}, "note": "rent"})`);
    await click(of.getByTestId("submit-card"));
    const [sent] = fake.sent("submit") as unknown as { decisions: { arguments: Json }[] }[];
    expect(sent?.decisions[0]?.arguments).toEqual({ id: LARGE, note: "rent" });
  });

  it("W2.2: that came all the same, where anything may be, is shown as about what it is", async () => {
    const given = { id: Number(LARGE), of: { number: 1 } };
    const card: PendingCard = { ...deploy, destructive: true, arguments: given, arguments_schema: { type: "object" } };
    const { page } = await show({ pending: [card] }, {}, panel);
    expect(page.getByTestId("approve").textContent).toBe("Approve deploy"); // no number on a button that is not the one that runs
    const shown = [...page.getByTestId(`card-${deploy.id}`).querySelectorAll(".llm4s-literal")].map((one) => one.textContent);
    expect(shown).toEqual([`≈ ${Number(LARGE)}`, "1"]);
  });

  it("as a text stays one where a text is possible too", async () => {
    const schema = { type: "object", properties: { id: { anyOf: [{ type: "integer" }, { type: "string" }] } } };
    const card: PendingCard = { ...deploy, arguments: { id: LARGE }, arguments_schema: schema };
    const { page } = await show({ pending: [card] }, {}, panel);
    await click(page.getByTestId("edit"));
    const box = [...page.getByTestId(`card-${deploy.id}`).querySelectorAll<HTMLInputElement>("textarea, input")];
    expect(box.some((one) => one.value === LARGE && one.tagName === "TEXTAREA")).toBe(true);
  });
});

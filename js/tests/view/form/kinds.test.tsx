import { act } from "@testing-library/preact";
import { describe, expect, it } from "vitest";
import { check } from "../../../src/view/form/check";
import { blank, branchOf } from "../../../src/view/form/fit";
import { kindName } from "../../../src/view/form/names";
import { planOf, type Schema } from "../../../src/view/form/schema";
import type { Path } from "../../../src/view/json";
import panel from "../../../src/widgets/review_panel";
import type { Json, JsonObject, PendingCard, Problem } from "../../../src/wire/index";
import { readSession } from "../../support/fixture";
import { click, show, type } from "../../support/show";

const approval = readSession().pending[0] as PendingCard;

/** An edit's form, its fields found by their places. */
async function editing(properties: JsonObject, value: JsonObject, more: JsonObject = {}) {
  const schema = { type: "object", properties, ...more };
  const shown = await show({ pending: [{ ...approval, arguments: value, arguments_schema: schema }] }, {}, panel);
  const card = shown.card(approval.id);
  const root = shown.page.getByTestId(`card-${approval.id}`);
  await click(card.getByTestId("edit"));
  const find = (path: Path, part = "") =>
    [...root.querySelectorAll<HTMLElement>("[id]")].find((one) => one.id.endsWith(encodeURIComponent(JSON.stringify(path)) + part));
  const at = (path: Path, part = "") => {
    const found = find(path, part);
    if (found === undefined) throw new Error(`nothing at ${JSON.stringify(path)}${part}`);
    return found as HTMLInputElement;
  };
  const press = async (path: Path, words: string) => {
    const field = at(path, "-name").closest(".llm4s-field") as HTMLElement;
    const [button] = [...field.querySelectorAll("button, label")].filter((one) => one.textContent?.trim() === words);
    if (button === undefined) throw new Error(`no “${words}” at ${JSON.stringify(path)}`);
    await click(button.querySelector("input") ?? button);
  };
  const sent = async () => {
    await click(card.getByTestId("submit-card"));
    const decision = shown.fake.sent("submit").at(-1)?.decisions[0];
    return decision?.decision === "edit" ? (decision.arguments as Json) : undefined;
  };
  const refuse = async (problems: { path: Path; message: string }[]) => {
    await sent();
    const told = problems.map(
      (one): Problem => ({ ...one, path: ["arguments", ...one.path], interrupt_id: approval.id, code: "invalid" }) as Problem,
    );
    const error = { type: "InvalidResume", what: "no", where: "here", next_step: "again", at_ms: 0 };
    await shown.fake.message({ kind: "refused", request_id: shown.fake.lastId("submit"), error, problems: told });
  };
  const faults = (path: Path) => find(path, "-faults")?.textContent ?? "";
  return { ...shown, root, card, at, find, press, sent, refuse, faults };
}

const text = { type: "string" };
const either = (...members: JsonObject[]): JsonObject => ({ anyOf: members });
const member = (title: string, properties: JsonObject, required = Object.keys(properties)): JsonObject => ({
  type: "object",
  title,
  properties,
  required,
});

describe("a value that no control fits is shown as JSON, wherever it stands (W2.9)", () => {
  it.each([
    ["an optional text", either(text, { type: "null" }), 5],
    ["an optional group", either(member("A", { a: text }), { type: "null" }), [1]],
    ["a constant", { const: "fixed" }, "other"],
    ["an optional decimal", either({ type: "number" }, { type: "string", format: "decimal" }, { type: "null" }), [1]],
    ["a union of groups", either(member("A", { a: text }), member("B", { b: text })), { c: 1 }],
    [
      "a group told by its tag",
      { oneOf: ["a", "b"].map((k) => member(k, { k: { const: k } })), discriminator: { propertyName: "k" } },
      { k: "z" },
    ],
  ])("%s", async (_, schema, value) => {
    const { at, root } = await editing({ field: schema as JsonObject, beside: text }, { field: value as Json, beside: "x" });
    expect(JSON.parse(at(["field"]).value)).toEqual(value);
    expect(root.querySelectorAll("textarea.llm4s-json")).toHaveLength(1);
    expect(root.querySelectorAll(".llm4s-misfit")).toHaveLength(1);
  });

  it("says a problem deeper in it there, with its place", async () => {
    const { refuse, faults } = await editing({ field: {} }, { field: { a: { b: 1 } } });
    await refuse([{ path: ["field", "a", "b"], message: "too small" }]);
    expect(faults(["field"])).toBe("a: b: too small");
  });
});

describe("unions", () => {
  it("tell a number or text from a decimal, which says that it is one", () => {
    const number = { type: "number" };
    expect(kindName({}, either(number, text))).toBe("number or text");
    expect(planOf({}, either(number, { ...text, format: "decimal" }))).toEqual({ kind: "decimal", limits: number });
    expect(planOf({}, either(number, { ...text, format: "decimal" }, { type: "array" }))).toMatchObject({
      kind: "union",
      branches: { length: 2 },
    });
  });

  it("tell texts by how they look", () => {
    const members = ["date", "time", "duration", "uuid"].map((format) => ({ ...text, format }));
    const of = (value: string) => branchOf({}, [...members, text], value);
    expect(["2026-11-30", "14:05:00", "PT5M", "123e4567-e89b-12d3-a456-426614174000", "Ana"].map(of)).toEqual([0, 1, 2, 3, 4]);
    expect(check({}, either(members[1] as Schema, members[0] as Schema), "2026-11-30")).toEqual([]);
  });

  it("keep the kind of what is half written", async () => {
    const big = member("Big", { items: { type: "array", items: text } });
    const { press, at, sent } = await editing({ load: either(member("Small", { item: text }), big) }, { load: { items: ["a"] } });
    await press(["load", "items"], "Add an item");
    await type(at(["load", "items", 1]), "b");
    expect(await sent()).toEqual({ load: { items: ["a", "b"] } });
  });

  it("give back what was typed under another kind", async () => {
    const { press, at, sent } = await editing({ home: either(member("Address", { street: text }), text) }, { home: "here" });
    await press(["home"], "Address");
    await type(at(["home", "street"]), "Main St");
    await press(["home"], "text");
    expect(at(["home"]).value).toBe("here");
    await press(["home"], "Address");
    expect(await sent()).toEqual({ home: { street: "Main St" } });
  });

  const dog = member("Dog", { kind: { const: "dog" }, breed: text });
  const cat = member("Cat", { kind: { const: "cat", default: "cat" }, lives: { type: "integer" } }, []);
  const bird = member("Bird", { kind: { enum: ["parrot", "crow"] } });
  const pets: JsonObject = { oneOf: [dog, cat, bird], discriminator: { propertyName: "kind" } };

  it("never leave the tag out, and say a tag of one value once: as the kind", async () => {
    const { root, find, press, sent } = await editing({ pet: pets }, { pet: { kind: "cat" } });
    expect(find(["pet", "kind"])).toBeUndefined();
    expect([...root.querySelectorAll("button")].map((one) => one.getAttribute("aria-label"))).not.toContain("Leave out kind");
    await press(["pet"], "Bird");
    expect(find(["pet", "kind"])).toBeDefined();
    await press(["pet", "kind"], "crow");
    expect(await sent()).toEqual({ pet: { kind: "crow" } });
  });

  it("begin with the tag, which must be there although it has a default", () => {
    const plan = planOf({}, pets);
    expect(plan.kind === "union" ? plan.branches.map((branch) => blank({}, branch)) : []).toEqual([{ kind: "dog" }, { kind: "cat" }, {}]);
    expect(check({}, pets, { kind: "crow" })).toEqual([]);
    expect(check({}, pets, { lives: 3 })).not.toEqual([]);
  });

  it("say what is wrong with the member that is drawn, and not what another would have", async () => {
    const payment = either(member("Card", { number: text }), member("Account", { iban: text }));
    const { refuse, faults } = await editing({ by: payment }, { by: { number: "1" } });
    await refuse([
      { path: ["by", "number"], message: "not a card" },
      { path: ["by", "iban"], message: "missing" },
    ]);
    expect([faults(["by"]), faults(["by", "number"])]).toEqual(["", "not a card"]);
  });
});

describe("secrets (rule 3.8)", () => {
  const secret = { type: "string", format: "password", writeOnly: true };

  it("are never drawn as text, whatever they hold", async () => {
    const { at, root } = await editing({ a: secret, b: { ...secret, type: "integer" } }, { a: "one\ntwo", b: "••••••••" });
    expect([at(["a"]).type, at(["b"]).type, at(["b"]).value]).toEqual(["password", "password", ""]);
    expect(root.querySelector("textarea")).toBeNull();
  });

  it("of another type are what was written, as JSON", async () => {
    const { at, sent, card } = await editing({ pin: { type: "integer", writeOnly: true } }, { pin: "••••••••" });
    await type(at(["pin"]), "4321");
    expect(at(["pin"]).value).toBe("4321");
    expect((card.getByText("JSON") as HTMLButtonElement).disabled).toBe(true);
    expect(await sent()).toEqual({ pin: 4321 });
  });
});

describe("names and places", () => {
  it("of a field called like the arguments themselves", async () => {
    const { refuse, faults } = await editing({ arguments: text, "a.b: c": text }, { arguments: "x", "a.b: c": "y" });
    await refuse([
      { path: ["arguments"], message: "one" },
      { path: ["a.b: c"], message: "two" },
    ]);
    expect([faults(["arguments"]), faults(["a.b: c"])]).toEqual(["one", "two"]);
  });

  it("that may be chosen, must match, or may be new", async () => {
    const schema = {
      chosen: { type: "object", propertyNames: { enum: ["low", "high"] }, additionalProperties: { type: "integer" } },
      matching: { type: "object", patternProperties: { "^x_": { type: "integer" } } },
      open: { type: "object", properties: { a: text }, additionalProperties: true },
      silent: { type: "object", properties: { a: text } },
    };
    const { at, find } = await editing(schema, { chosen: { low: 1 }, matching: {}, open: { a: "" }, silent: { a: "" } });
    expect([...at(["chosen"]).querySelectorAll("option")].map((one) => one.textContent)).toEqual(["choose a name …", "high"]);
    expect(at(["open"]).placeholder).toBe("name");
    expect(find(["silent"])).toBeUndefined();
    expect(check({}, schema.matching, { y: 1, x_a: "no" })).toEqual([
      { path: ["y"], message: "Name: Must match ^x_" },
      { path: ["x_a"], message: "Must be a number." },
    ]);
  });

  it("that the author gave are shown, and those pydantic makes of names are not", async () => {
    const { root } = await editing(
      { zip_code: { ...text, title: "Zip Code" }, when: { ...text, title: "When?" } },
      { zip_code: "", when: "" },
    );
    const names = [...root.querySelectorAll(".llm4s-field-name")].map((one) => one.textContent);
    expect(names).toEqual(["arguments", "zip_code", "When? (when)"]);
  });

  it("with characters that are not seen show them", async () => {
    const { at } = await editing({ "x\u202ey": { ...text, description: "\u202eabc" } }, {});
    expect(at(["x\u202ey"], "-name").textContent).toBe("xU+202Ey");
    expect(at(["x\u202ey"], "-about").textContent).toBe("U+202Eabc");
  });

  it("of other fields may be meant: what is missing then is the kernel's to say", () => {
    const model = member("A", { firstName: text });
    expect(check({}, model, { first_name: "Ana" })).toEqual([]);
    expect(check({}, model, {})).toEqual([{ path: ["firstName"], message: "Required." }]);
    expect(check({}, { ...model, additionalProperties: false }, { first_name: "Ana" })).toHaveLength(2);
  });
});

describe("what the kernel takes, the browser does not refuse (W2.8)", () => {
  it.each([
    ["a set with a value twice", { type: "array", uniqueItems: true, items: text }, ["a", "a"]],
    ["a large number with a fraction's type", { type: "number" }, 1e300],
    ["a named tuple without its last, optional place", { type: "array", prefixItems: [text, text], minItems: 1, maxItems: 2 }, ["a"]],
    ["a text of a format nobody knows", { type: "string", format: "multi-line" }, ""],
  ])("%s", (_, schema, value) => {
    expect(check({}, schema as Schema, value)).toEqual([]);
  });
});

describe("a number that a browser cannot hold", () => {
  it("is said to be another than was proposed before anybody touches it", async () => {
    const { root, sent } = await editing({ id: { type: "integer" }, any: {} }, { id: 2 ** 60, any: [2 ** 60] });
    expect([...root.querySelectorAll(".llm4s-misfit")].map((one) => one.textContent)).toEqual([
      "A browser cannot hold this number exactly: answer it from code.",
      "A browser cannot hold this number exactly: answer it from code.",
    ]);
    expect(await sent()).toBeUndefined();
  });
});

describe("texts", () => {
  it("keep their kind of line break", async () => {
    const { at, sent } = await editing({ body: text }, { body: "one\r\ntwo" });
    await type(at(["body"]), "one\ntwo\nthree");
    expect(await sent()).toEqual({ body: "one\r\ntwo\r\nthree" });
  });

  it("of one line become several where there are several", async () => {
    const { at } = await editing({ a: { ...text, pattern: "x" }, b: { ...text, pattern: "x" } }, { a: "x\ny", b: "x" });
    expect([at(["a"]).tagName, at(["b"]).tagName]).toEqual(["TEXTAREA", "INPUT"]);
  });
});

describe("the focus (W2.10)", () => {
  it.each([
    ["a text", text, 5, '"a"'],
    ["a choice", { enum: ["a", "b"] }, "PT5M", '"a"'],
    ["an optional text", either(text, { type: "null" }), 5, "null"],
    ["a field that was cleared", text, 5, ""],
  ])("stays in the JSON of %s while what is written begins to fit", async (_, schema, value, written) => {
    const { at, root } = await editing({ field: schema as JsonObject, other: text }, { field: value, other: "" });
    const editor = at(["field"]);
    await act(() => editor.focus());
    await type(editor, written);
    expect(document.activeElement).toBe(editor);
    expect(editor.isConnected).toBe(true);
    await act(() => at(["other"]).focus());
    expect(root.querySelectorAll("textarea.llm4s-json")).toHaveLength(0);
  });

  it("stays in a union's field while what is written looks like another kind", async () => {
    const members: JsonObject[] = [{ ...text, format: "uuid" }, { type: "array", items: text }, text];
    const { at, sent } = await editing({ field: either(...members), mixed: either(...members) }, { field: "Ana", mixed: { a: 1 } });
    const [named, raw] = [at(["field"]), at(["mixed"])];
    await act(() => named.focus());
    await type(named, "123e4567-e89b-12d3-a456-426614174000");
    expect(document.activeElement).toBe(named);
    await act(() => raw.focus());
    await type(raw, "");
    await type(raw, '"b"');
    expect(document.activeElement).toBe(raw);
    expect(await sent()).toEqual({ field: "123e4567-e89b-12d3-a456-426614174000", mixed: "b" });
  });

  it("goes to what was added, and stays near what was taken away", async () => {
    const inner = member("Inner", { word: text });
    const properties = { inner, words: { type: "array", items: text } };
    const { press, at } = await editing(properties, { words: ["a"] }, { required: ["words"] });
    await press(["inner"], "Add inner");
    expect(document.activeElement).toBe(at(["inner", "word"]));
    await press(["words"], "Add an item");
    expect(document.activeElement).toBe(at(["words", 1]));
    await press(["words", 1], "remove");
    expect(document.activeElement).toBe(at(["words"]));
    await press(["inner"], "leave out");
    expect(document.activeElement).toBe(at(["inner"]));
  });

  it("reaches what is written before what takes it out, and a group's own button before its fields", async () => {
    const inner = member("Inner", { word: text });
    const properties = { inner, word: text, several: { type: "array", items: text } };
    const { root, at } = await editing(properties, { inner: { word: "b" }, word: "a", several: ["c"] });
    const stops = [...root.querySelectorAll("input, textarea, button")];
    const place = (path: Path) => stops.indexOf(at(path));
    const named = (name: string) => stops.findIndex((one) => one.getAttribute("aria-label") === name);
    const leave = (name: string) => named(`Leave out ${name}`);
    expect(place(["word"])).toBe(leave("word") - 1);
    expect(place(["several", 0])).toBe(named("Remove item 1 of several") - 1);
    expect(leave("inner")).toBeLessThan(place(["inner", "word"]));
    expect(leave("several")).toBeLessThan(place(["several", 0]));
    expect(Math.min(leave("inner"), leave("several"))).toBeGreaterThan(-1);
  });

  it("and is not taken from who has gone on meanwhile: it follows before the next event, not after a frame", async () => {
    const { at } = await editing({ words: { type: "array", items: { type: "string" } } }, { words: ["a", "b", "c"] });
    const field = at(["words", 0], "-name").closest(".llm4s-field") as HTMLElement;
    const remove = [...field.querySelectorAll("button")].find((one) => one.textContent?.trim() === "remove") as HTMLButtonElement;
    remove.click();
    await Promise.resolve();
    await Promise.resolve();
    expect(document.activeElement).toBe(at(["words", 0]));
    at(["words", 1]).focus();
    await new Promise((done) => setTimeout(done, 120));
    expect(document.activeElement).toBe(at(["words", 1]));
  });
});

import { describe, expect, it } from "vitest";
import { check } from "../../../src/view/form/check";
import { blank, branchOf, fits } from "../../../src/view/form/fit";
import { kindName } from "../../../src/view/form/names";
import { formPath } from "../../../src/view/form/path";
import { planOf, resolve, type Schema } from "../../../src/view/form/schema";
import { getAt, setAt } from "../../../src/view/json";
import type { Json } from "../../../src/wire/index";
import { readFixture } from "../../support/fixture";

const schemaOf = (name: string) => readFixture(`forms/${name}`).schema as Schema;
const samplesOf = (name: string) => readFixture(`forms/${name}`).samples as Json[];
const messages = (schema: Schema, value: Json | undefined) =>
  check(schema, schema, value).map((fault) => `${fault.path.join(".")}: ${fault.message}`);

describe("schemas", () => {
  it("follows references with what stands beside them, and survives those that lead nowhere or in a circle", () => {
    const root: Schema = { $defs: { A: { type: "string", title: "A" }, Loop: { $ref: "#/$defs/Loop" }, "a/b": { type: "null" } } };
    expect(resolve(root, { $ref: "#/$defs/A", description: "here" })).toEqual({ type: "string", title: "A", description: "here" });
    expect(planOf(root, { $ref: "#/$defs/a~1b" })).toEqual({ kind: "null" });
    expect(planOf(root, { $ref: "#/$defs/Gone" })).toEqual({ kind: "any" });
    expect(planOf(root, { $ref: "#/$defs/Loop" })).toEqual({ kind: "any" });
  });

  it("draws a Decimal as one text field, alone and with null", () => {
    const money = schemaOf("money");
    const fields = money.properties as Record<string, Schema>;
    expect(kindName(money, fields.amount ?? {})).toBe("decimal number");
    expect(planOf(money, fields.discount ?? {})).toMatchObject({ kind: "union", nullable: true });
    expect(kindName(money, fields.discount ?? {})).toBe("decimal number or nothing");
  });

  it("flattens a nullable discriminated union in its order", () => {
    const unions = schemaOf("unions");
    const plan = planOf(unions, (unions.properties as Record<string, Schema>).other ?? {});
    expect(plan).toMatchObject({ kind: "union", nullable: true });
    expect(kindName(unions, (unions.properties as Record<string, Schema>).other ?? {})).toBe("Dog, Cat or nothing");
  });
});

describe("which branch a value belongs to", () => {
  const unions = schemaOf("unions");
  const branches = (name: string) => {
    const plan = planOf(unions, (unions.properties as Record<string, Schema>)[name] ?? {});
    return plan.kind === "union" ? plan.branches : [];
  };

  it.each([
    [3, 0],
    ["3", 1],
    [[1], 2],
    [3.5, 0],
    [["x"], 2],
    [{}, -1],
    [undefined, -1],
  ])("of int, str and list[int], %j is number %i", (value, index) => {
    expect(branchOf(unions, branches("mixed"), value as Json)).toBe(index);
  });

  it("goes by the discriminator where the rest does not fit", () => {
    expect(branchOf(unions, branches("pet"), { kind: "cat", lives: "nine" })).toBe(1);
    expect(branchOf(unions, branches("pet"), { kind: "bird" })).toBe(-1);
  });
});

describe("the light check (W2.8)", () => {
  it.each([
    "deployment",
    "person",
    "money",
    "unions",
    "collections",
    "moments",
    "tree",
    "closed",
    "optional_text",
    "text",
    "flag",
    "number",
    "texts",
    "anything",
    "pet",
  ])("finds nothing wrong with what pydantic takes: %s", (name) => {
    for (const sample of samplesOf(name)) expect(messages(schemaOf(name), sample), JSON.stringify(sample)).toEqual([]);
  });

  it("says required, type, range, length, pattern and choice, each at its place", () => {
    expect(messages(schemaOf("deployment"), { environment: "moon", version: "2", replicas: 0, flags: { a: 1 }, surplus: 1 })).toEqual([
      'environment: Must be one of "staging", "prod".',
      "version: Must match ^\\d+\\.\\d+\\.\\d+$",
      "replicas: Must be 1 or more.",
      "flags.a: Must be yes or no.",
    ]);
    expect(messages(schemaOf("person"), { name: "", home: { street: "x" }, colour: "red", active: 1, ratio: 1 })).toEqual([
      "name: Must not be empty.",
      "home.zip_code: Required.",
      "active: Must be yes or no.",
      "ratio: Must be less than 1.",
    ]);
    expect(messages({ type: "string", format: "date" }, "2026-02-30")).toEqual([": Must be a date, such as 2026-11-30."]);
    expect(messages({ type: "string", format: "date" }, "2028-02-29")).toEqual([]);
    expect(messages({ type: "string", format: "date-time" }, "tomorrow")).toEqual([
      ": Must be a date and time, such as 2026-11-30T14:05:00Z.",
    ]);
    expect(messages({ type: "string", format: "time" }, "25:00")).toEqual([": Must be a time, such as 14:05:00."]);
    expect(messages(schemaOf("closed"), { version: 3, text: "x", more: 1 })).toEqual([
      "version: Must be 2.",
      "more: This field is not known here.",
    ]);
    expect(messages(schemaOf("collections"), { rows: [], counts: { a: 1.5 }, tags: ["x", "x"], pair: [1] })).toEqual([
      "rows: At least 1 item.",
      "counts.a: Must be a whole number.",
      "pair.1: Required.",
    ]);
  });

  it("leaves formats and patterns it cannot read to the kernel", () => {
    expect(messages(schemaOf("moments"), { ...(samplesOf("moments")[0] as object), day: "2026-11-30T25:99" })).toEqual([]);
    expect(messages({ type: "string", pattern: "(?P<x>a)" }, "b")).toEqual([]);
  });

  it("does not send a number that lost digits on its way here", () => {
    expect(messages({ type: "integer" }, 12345678901234567000)).toEqual([
      ": A browser cannot hold this number exactly: answer it from code.",
    ]);
  });

  it("counts characters, not UTF-16 units", () => {
    expect(messages({ type: "string", maxLength: 2 }, "🙂🙂")).toEqual([]);
  });

  it.each([
    ["12.50", []],
    ["-1", [": Must be 0 or more."]],
    ["abc", [": Must be a number, such as 12.50."]],
    [3, []],
    [true, [": Must be a number."]],
  ])("a decimal %j", (value, expected) => {
    const money = schemaOf("money");
    const amount = (money.properties as Record<string, Schema>).amount as Schema;
    expect(messages(amount, value as Json)).toEqual(expected);
  });
});

describe("where a problem of the kernel belongs (W2.7)", () => {
  const unions = schemaOf("unions");
  const value = { pet: { kind: "dog", breed: 1 }, mixed: "x", either: { street: "", zip_code: "1" } };

  it.each([
    [
      ["pet", "dog", "breed"],
      ["pet", "breed"],
    ],
    [["mixed", "int"], ["mixed"]],
    [
      ["either", "Address", "zip_code"],
      ["either", "zip_code"],
    ],
    [
      ["arguments", "pet", "dog", "breed"],
      ["pet", "breed"],
    ],
    [["choice"], ["choice"]],
    [[], []],
  ])("%j is shown at %j", (path, expected) => {
    expect(formPath(unions, unions, value, path)).toEqual(expected);
  });

  it("keeps the place of a missing field and of an item", () => {
    const collections = schemaOf("collections");
    expect(formPath(collections, collections, { rows: [{ street: "x" }] }, ["rows", 0, "zip_code"])).toEqual(["rows", 0, "zip_code"]);
    expect(formPath(collections, collections, {}, ["counts"])).toEqual(["counts"]);
    expect(formPath(collections, collections, { pair: [1] }, ["pair", 1])).toEqual(["pair", 1]);
  });
});

describe("a beginning", () => {
  it("holds constants and groups that must be there, and nothing that a person has to say", () => {
    const person = schemaOf("person");
    expect(blank(person, person)).toEqual({ home: {} });
    const pet = schemaOf("pet");
    const plan = planOf(pet, pet);
    expect(plan.kind === "union" ? plan.branches.map((branch) => blank(pet, branch)) : []).toEqual([{ kind: "dog" }, { kind: "cat" }]);
    expect(blank(schemaOf("flag"), schemaOf("flag"))).toBeUndefined();
    const tree = schemaOf("tree");
    expect(blank(tree, tree)).toEqual({});
  });

  it("takes a branch only for a value of its shape", () => {
    expect(fits(schemaOf("tree"), schemaOf("tree"), { name: "x", children: [{ name: "y" }] })).toBe(true);
    expect(fits(schemaOf("tree"), schemaOf("tree"), { name: "x", children: [{ nom: "y" }] })).toBe(false);
  });
});

describe("paths", () => {
  it("sets and takes out without touching what is beside, whatever the key is called", () => {
    const before = JSON.parse('{"a": [1, {"__proto__": 2}], "b": null}') as Json;
    const after = setAt(before, ["a", 1, "__proto__"], 3);
    expect(JSON.stringify(after)).toBe('{"a":[1,{"__proto__":3}],"b":null}');
    expect(JSON.stringify(before)).toBe('{"a":[1,{"__proto__":2}],"b":null}');
    expect(JSON.stringify(setAt(after, ["b"], undefined))).toBe('{"a":[1,{"__proto__":3}]}');
    expect(getAt(after, ["a", 1, "toString"])).toBeUndefined();
    expect(JSON.stringify(setAt({}, ["toString"], 1))).toBe('{"toString":1}');
  });
});

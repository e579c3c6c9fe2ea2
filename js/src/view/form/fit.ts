import type { Json } from "../../wire/index";
import { equal, isExact, isObject, type Maybe } from "../json";
import { leafFaults, looksLike } from "./leaf";
import { branchPlan, fullSchema, type Plan, type Schema } from "./schema";

/** How deep a value is compared with a branch before the rest is taken on trust. */
const DEPTH = 6;

/** Can the control of this plan show the value as it is? What cannot be shown is edited as JSON, never coerced. */
export function shows(plan: Plan, value: Json): boolean {
  switch (plan.kind) {
    case "any":
      return true;
    case "null":
      return value === null;
    case "const":
      return equal(value, plan.value);
    case "enum":
      return plan.options.some((option) => equal(option, value));
    case "boolean":
      return typeof value === "boolean";
    case "number":
      return typeof value === "number" || (plan.integer && isExact(value));
    case "decimal":
      return typeof value === "number" || typeof value === "string";
    case "string":
      return typeof value === "string";
    case "secret":
      return true;
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value) && (plan.items !== null || value.length <= plan.prefix.length);
    case "union":
      return true;
  }
}

/**
 * Does the value have the shape of the schema? Types, keys, constants: what decides between the branches of a union. `close` looks at
 * limits and at how texts look, too: a time is told from a date by that.
 */
export function fits(root: Schema, schema: Schema, value: Json, { close = false, depth = 0 } = {}): boolean {
  const plan = branchPlan(root, schema);
  if (!shows(plan, value)) return false;
  if (depth >= DEPTH) return true;
  const inner = (of: Schema, item: Json) => fits(root, of, item, { close, depth: depth + 1 });
  if (plan.kind === "union") return plan.nullable && value === null ? true : plan.branches.some((branch) => inner(branch, value));
  if (plan.kind === "array" && Array.isArray(value)) {
    return (
      value.length >= plan.least &&
      value.every((item, index) => {
        const of = plan.prefix[index] ?? plan.items;
        return of !== null && inner(of, item);
      })
    );
  }
  if (plan.kind === "object" && isObject(value)) {
    const known = new Map(plan.fields);
    if ([...plan.required].some((key) => !Object.hasOwn(value, key))) return false;
    return Object.entries(value).every(([key, item]) => {
      const of = known.get(key) ?? plan.extra;
      return typeof of === "boolean" ? of : inner(of, item);
    });
  }
  if (plan.kind === "number" && plan.integer && !Number.isInteger(value) && !isExact(value)) return false;
  if (plan.kind === "secret") return !plan.text || typeof value === "string";
  const full = fullSchema(root, schema);
  return !close || (leafFaults(plan, full, value).length === 0 && looksLike(full, value));
}

/**
 * The branch a value belongs to: the first it fits closely; else the first whose shape it has; else the one whose constants (a
 * discriminator) it carries; else the one that knows most of it. -1 where that leaves a doubt.
 */
export function branchOf(root: Schema, branches: readonly Schema[], value: Maybe): number {
  if (value === undefined) return -1;
  if (isExact(value)) {
    // Where a text is possible too, digits are a text.
    const text = branches.findIndex((branch) => ["string", "decimal"].includes(branchPlan(root, branch).kind));
    if (text >= 0) return text;
  }
  for (const close of [true, false]) {
    const found = branches.findIndex((branch) => fits(root, branch, value, { close }));
    if (found >= 0) return found;
  }
  const tagged = branches.findIndex((branch) => carriesConstants(root, branch, value));
  if (tagged >= 0) return tagged;
  // Of members that a tag tells apart, one without the right tag is none, even the only one that could show the value.
  const able = branches.map((branch) => (tagOf(root, branch) === null ? likeness(root, branch, value) : -1));
  const most = Math.max(...able);
  return most >= 0 && able.filter((likeness) => likeness === most).length === 1 ? able.indexOf(most) : -1;
}

/** How much of a value a branch knows: the number of its names; -1 where it cannot show it at all. */
function likeness(root: Schema, branch: Schema, value: Json): number {
  const plan = branchPlan(root, branch);
  if (!shows(plan, value)) return -1;
  return plan.kind === "object" && isObject(value) ? plan.fields.filter(([key]) => Object.hasOwn(value, key)).length : 0;
}

function tagOf(root: Schema, branch: Schema | undefined): string | null {
  const plan = branch === undefined ? null : branchPlan(root, branch);
  return plan?.kind === "object" ? plan.tag : null;
}

/** Is the value shown as raw JSON at its place: because it may be anything, or because no control fits it? */
export function shownAsJson(root: Schema, schema: Schema, value: Maybe): boolean {
  const plan = branchPlan(root, schema);
  if (plan.kind === "any") return true;
  if (value === undefined) return false;
  if (plan.kind !== "union") return !shows(plan, value);
  if (value === null && plan.nullable) return false;
  const branch = plan.branches[branchOf(root, plan.branches, value)];
  return branch === undefined || shownAsJson(root, branch, value);
}

/** The fields whose value says of which member of a union an object is. */
const tellingFields = (root: Schema, plan: Extract<Plan, { kind: "object" }>) =>
  plan.fields.filter(([key, field]) => key === plan.tag || branchPlan(root, field).kind === "const");

function carriesConstants(root: Schema, branch: Schema, value: Json): boolean {
  const plan = branchPlan(root, branch);
  if (plan.kind !== "object" || !isObject(value)) return false;
  const telling = tellingFields(root, plan);
  return telling.length > 0 && telling.every(([key]) => Object.hasOwn(value, key)) && !contradicts(root, plan, value);
}

/** Does the object say of itself that it is of another kind? */
export function contradicts(root: Schema, plan: Plan, value: Json): boolean {
  if (plan.kind !== "object" || !isObject(value)) return false;
  return tellingFields(root, plan).some(([key, field]) => Object.hasOwn(value, key) && !shows(branchPlan(root, field), value[key] as Json));
}

/** A beginning for a value that a person asks for: constants, groups and lists that must be there, and nothing else. */
export function blank(root: Schema, schema: Schema, depth = 0): Maybe {
  const plan = branchPlan(root, schema);
  if (plan.kind === "const") return plan.value;
  if (plan.kind === "null") return null;
  if (plan.kind === "array") return [];
  if (plan.kind !== "object") return undefined;
  const fields = plan.fields.flatMap(([key, field]) => {
    const start = plan.required.has(key) && depth < DEPTH ? blank(root, field, depth + 1) : undefined;
    return start === undefined ? [] : [[key, start] as const];
  });
  return Object.fromEntries(fields);
}

import type { Json } from "../../wire/index";
import { equal, isObject, type Maybe } from "../json";
import { branchPlan, type Plan, type Schema } from "./schema";

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
      return typeof value === "number";
    case "decimal":
      return typeof value === "number" || typeof value === "string";
    case "string":
      return typeof value === "string";
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value) && (plan.items !== null || value.length <= plan.prefix.length);
    case "union":
      return true;
  }
}

/** Does the value have the shape of the schema? Types, keys and constants only: what decides between the branches of a union. */
export function fits(root: Schema, schema: Schema, value: Json, depth = 0): boolean {
  const plan = branchPlan(root, schema);
  if (!shows(plan, value)) return false;
  if (depth >= DEPTH) return true;
  if (plan.kind === "number") return !plan.integer || Number.isInteger(value);
  if (plan.kind === "union")
    return plan.nullable && value === null ? true : plan.branches.some((branch) => fits(root, branch, value, depth + 1));
  if (plan.kind === "array" && Array.isArray(value)) {
    return value.every((item, index) => {
      const of = plan.prefix[index] ?? plan.items;
      return of !== null && fits(root, of, item, depth + 1);
    });
  }
  if (plan.kind === "object" && isObject(value)) {
    const known = new Map(plan.fields);
    if ([...plan.required].some((key) => !Object.hasOwn(value, key))) return false;
    return Object.entries(value).every(([key, item]) => {
      const of = known.get(key) ?? plan.extra;
      return typeof of === "boolean" ? of : fits(root, of, item, depth + 1);
    });
  }
  return true;
}

/**
 * The branch a value belongs to: the first it fits; else the one whose constants (a discriminator) it carries; else the only
 * one that can show it. -1 where that leaves a doubt.
 */
export function branchOf(root: Schema, branches: readonly Schema[], value: Maybe): number {
  if (value === undefined) return -1;
  const exact = branches.findIndex((branch) => fits(root, branch, value));
  if (exact >= 0) return exact;
  const tagged = branches.findIndex((branch) => carriesConstants(root, branch, value));
  if (tagged >= 0) return tagged;
  const able = branches.map((branch, index) => (shows(branchPlan(root, branch), value) ? index : -1)).filter((index) => index >= 0);
  return able.length === 1 ? (able[0] ?? -1) : -1;
}

function carriesConstants(root: Schema, branch: Schema, value: Json): boolean {
  const plan = branchPlan(root, branch);
  if (plan.kind !== "object" || !isObject(value)) return false;
  const constants = plan.fields.flatMap(([key, field]) => {
    const of = branchPlan(root, field);
    return of.kind === "const" ? [[key, of.value] as const] : [];
  });
  return constants.length > 0 && constants.every(([key, constant]) => Object.hasOwn(value, key) && equal(value[key], constant));
}

/** A beginning for a value that a person asks for: constants, groups and lists that must be there, and nothing else. */
export function blank(root: Schema, schema: Schema, depth = 0): Maybe {
  const plan = branchPlan(root, schema);
  if (plan.kind === "const") return plan.value;
  if (plan.kind === "null") return null;
  if (plan.kind === "array") return [];
  if (plan.kind !== "object") return undefined;
  const fields = plan.fields.flatMap(([key, field]) => {
    const discriminates = branchPlan(root, field).kind === "const";
    const start = (plan.required.has(key) || discriminates) && depth < DEPTH ? blank(root, field, depth + 1) : undefined;
    return start === undefined ? [] : [[key, start] as const];
  });
  return Object.fromEntries(fields);
}

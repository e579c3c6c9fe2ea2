import type { Json } from "../../wire/index";
import { isObject, type Maybe, type Path } from "../json";
import { branchOf } from "./fit";
import { leafFaults, limit } from "./leaf";
import { branchPlan, fullSchema, type Plan, type Schema } from "./schema";

export interface Fault {
  readonly path: Path;
  readonly message: string;
}

/**
 * What a browser can say about a value: required, type, length, range, pattern, choice (W2.8). It never checks a format and leaves the
 * rest to the kernel, which decides; so it says less than the kernel, and nothing the kernel would not say.
 */
export function check(root: Schema, schema: Schema, value: Maybe, path: Path = []): Fault[] {
  if (value === undefined) return [{ path, message: "Required." }];
  const plan = branchPlan(root, schema);
  const full = fullSchema(root, schema);
  switch (plan.kind) {
    case "union":
      return checkUnion(root, plan, value, path);
    case "array":
      return Array.isArray(value) ? checkArray(root, plan, full, value, path) : [wrongType(path, "a list")];
    case "object":
      return isObject(value) ? checkObject(root, plan, full, value, path) : [wrongType(path, "a group of fields")];
    default:
      return leafFaults(plan, full, value).map((message) => ({ path, message }));
  }
}

const wrongType = (path: Path, wanted: string): Fault => ({ path, message: `Must be ${wanted}.` });

function checkUnion(root: Schema, plan: Extract<Plan, { kind: "union" }>, value: Json, path: Path): Fault[] {
  if (value === null && plan.nullable) return [];
  const branch = plan.branches[branchOf(root, plan.branches, value)];
  return branch === undefined
    ? [{ path, message: isObject(value) && Object.keys(value).length === 0 ? "Fill this in." : "Fits none of the possible kinds." }]
    : check(root, branch, value, path);
}

function checkArray(root: Schema, plan: Extract<Plan, { kind: "array" }>, schema: Schema, value: Json[], path: Path): Fault[] {
  const faults: Fault[] = [];
  if (plan.prefix.length === 0) faults.push(...counted(schema, "minItems", "maxItems", value.length, "item", path));
  value.forEach((item, index) => {
    const of = plan.prefix[index] ?? plan.items;
    if (of !== null) faults.push(...check(root, of, item, [...path, index]));
  });
  for (let index = value.length; index < plan.least; index += 1) faults.push({ path: [...path, index], message: "Required." });
  return faults;
}

function counted(schema: Schema, least: string, most: string, count: number, what: string, path: Path): Fault[] {
  const [low, high] = [limit(schema, least), limit(schema, most)];
  const many = (number: number) => `${number} ${what}${number === 1 ? "" : "s"}.`;
  if (low !== null && count < low) return [{ path, message: `At least ${many(low)}` }];
  if (high !== null && count > high) return [{ path, message: `At most ${many(high)}` }];
  return [];
}

type Fields = { [key: string]: Json };

function checkObject(root: Schema, plan: Extract<Plan, { kind: "object" }>, schema: Schema, value: Fields, path: Path): Fault[] {
  const faults = counted(schema, "minProperties", "maxProperties", Object.keys(value).length, "name", path);
  const known = new Map(plan.fields);
  const others = Object.entries(value).filter(([key]) => !known.has(key));
  for (const [key, field] of plan.fields) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    // A model may be open to other names of its fields, which no schema tells: then the kernel says what is missing.
    if (given !== undefined) faults.push(...check(root, field, given, [...path, key]));
    else if (plan.required.has(key) && (others.length === 0 || !plan.silent)) faults.push({ path: [...path, key], message: "Required." });
  }
  for (const [key, item] of others) {
    const at = [...path, key];
    if (plan.names !== null)
      faults.push(...check(root, plan.names, key, at).map(({ message }) => ({ path: at, message: `Name: ${message}` })));
    if (plan.extra === false) faults.push({ path: at, message: "This field is not known here." });
    else faults.push(...check(root, plan.extra === true ? {} : plan.extra, item, at));
  }
  return faults;
}

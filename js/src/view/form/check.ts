import type { Json } from "../../wire/index";
import { equal, isObject, lostNumber, type Maybe, type Path } from "../json";
import { branchOf } from "./fit";
import { branchPlan, type Plan, resolve, type Schema } from "./schema";

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
  const full = "x-decimal" in schema ? {} : resolve(root, schema);
  switch (plan.kind) {
    case "union":
      return checkUnion(root, plan, value, path);
    case "array":
      return Array.isArray(value) ? checkArray(root, plan, full, value, path) : [wrongType(path, "a list")];
    case "object":
      return isObject(value) ? checkObject(root, plan, value, path) : [wrongType(path, "a group of fields")];
    default:
      return checkLeaf(plan, full, value).map((message) => ({ path, message }));
  }
}

const wrongType = (path: Path, wanted: string): Fault => ({ path, message: `Must be ${wanted}.` });

function checkUnion(root: Schema, plan: Extract<Plan, { kind: "union" }>, value: Json, path: Path): Fault[] {
  if (value === null && plan.nullable) return [];
  const branch = plan.branches[branchOf(root, plan.branches, value)];
  return branch === undefined ? [{ path, message: "Fits none of the possible kinds." }] : check(root, branch, value, path);
}

function checkArray(root: Schema, plan: Extract<Plan, { kind: "array" }>, schema: Schema, value: Json[], path: Path): Fault[] {
  const faults: Fault[] = [];
  const least = limit(schema, "minItems");
  const most = limit(schema, "maxItems");
  if (plan.prefix.length === 0 && least !== null && value.length < least)
    faults.push({ path, message: `At least ${least} ${items(least)}.` });
  if (most !== null && value.length > most) faults.push({ path, message: `At most ${most} ${items(most)}.` });
  if (schema.uniqueItems === true) {
    const twice = value.findIndex((item, index) => value.slice(0, index).some((earlier) => equal(earlier, item)));
    if (twice >= 0) faults.push({ path: [...path, twice], message: "This value is in the list already." });
  }
  const count = Math.max(value.length, plan.prefix.length);
  for (let index = 0; index < count; index += 1) {
    const of = plan.prefix[index] ?? plan.items;
    if (of !== null) faults.push(...check(root, of, value[index], [...path, index]));
  }
  return faults;
}

const items = (count: number) => (count === 1 ? "item" : "items");

function checkObject(root: Schema, plan: Extract<Plan, { kind: "object" }>, value: { [key: string]: Json }, path: Path): Fault[] {
  const faults: Fault[] = [];
  const known = new Map(plan.fields);
  for (const [key, field] of plan.fields) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given !== undefined || plan.required.has(key)) faults.push(...check(root, field, given, [...path, key]));
  }
  for (const [key, item] of Object.entries(value)) {
    if (known.has(key)) continue;
    if (plan.extra === false) faults.push({ path: [...path, key], message: "This field is not known here." });
    else if (plan.extra === true) faults.push(...exactness(item).map((message) => ({ path: [...path, key], message })));
    else faults.push(...check(root, plan.extra, item, [...path, key]));
  }
  return faults;
}

function checkLeaf(plan: Plan, schema: Schema, value: Json): string[] {
  switch (plan.kind) {
    case "null":
      return value === null ? [] : ["Must be nothing (null)."];
    case "const":
      return equal(value, plan.value) ? [] : [`Must be ${JSON.stringify(plan.value)}.`];
    case "enum":
      return plan.options.some((option) => equal(option, value)) ? [] : [offered(plan.options)];
    case "boolean":
      return typeof value === "boolean" ? [] : ["Must be yes or no."];
    case "number":
      if (typeof value !== "number") return ["Must be a number."];
      if (plan.integer && !Number.isInteger(value)) return ["Must be a whole number."];
      return [...exactness(value), ...range(schema, value)];
    case "decimal":
      return checkDecimal(plan.limits, value);
    case "any":
      return exactness(value);
    case "string":
      return typeof value === "string" ? checkText(schema, value) : ["Must be text."];
    default:
      return [];
  }
}

/** Names the choices while they are few: beside raw JSON nobody sees them. */
const offered = (options: readonly Json[]): string =>
  options.length <= 8 ? `Must be one of ${options.map((option) => JSON.stringify(option)).join(", ")}.` : "Must be one of the choices.";

function checkDecimal(limits: Schema, value: Json): string[] {
  if (typeof value === "number") return [...exactness(value), ...range(limits, value)];
  if (typeof value !== "string") return ["Must be a number."];
  if (!/^\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)) {
    return /^\s*[+-]?(nan|inf(inity)?)\s*$/i.test(value) ? [] : ["Must be a number, such as 12.50."];
  }
  return range(limits, Number(value.replaceAll("_", "")));
}

function checkText(schema: Schema, value: string): string[] {
  const faults: string[] = [];
  const length = Array.from(value).length;
  const least = limit(schema, "minLength");
  const most = limit(schema, "maxLength");
  if (least !== null && length < least) faults.push(least === 1 ? "Must not be empty." : `At least ${least} characters, not ${length}.`);
  if (most !== null && length > most) faults.push(`At most ${most} characters, not ${length}.`);
  const moment = MOMENTS[String(schema.format)];
  if (moment !== undefined && !/^[+-]?\d+(\.\d*)?$/.test(value) && !moment.fits(value)) faults.push(moment.fault);
  if (typeof schema.pattern === "string" && !matches(schema.pattern, value)) faults.push(`Must match ${schema.pattern}`);
  return faults;
}

/** How dates and times begin. What is finer, and seconds since 1970, which pydantic takes too, is left to the kernel. */
const MOMENTS: Readonly<Record<string, { fits: (value: string) => boolean; fault: string }>> = {
  date: { fits: beginsWithDay, fault: "Must be a date, such as 2026-11-30." },
  "date-time": { fits: beginsWithDay, fault: "Must be a date and time, such as 2026-11-30T14:05:00Z." },
  time: { fits: (value) => /^\s*([01]\d|2[0-3]):[0-5]\d/.test(value), fault: "Must be a time, such as 14:05:00." },
};

function beginsWithDay(value: string): boolean {
  const [, year, month, day] = /^\s*(\d{4})-(\d\d)-(\d\d)/.exec(value)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const found = new Date(0);
  found.setUTCFullYear(year, month - 1, day);
  return found.getUTCMonth() === month - 1 && found.getUTCDate() === day;
}

/** A pattern this browser cannot read is left to the kernel. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

const exactness = (value: Json): string[] => {
  const lost = lostNumber(value);
  return lost === null ? [] : [lost];
};

function range(schema: Schema, value: number): string[] {
  const faults: string[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" && value < minimum) faults.push(`Must be ${minimum} or more.`);
  if (typeof maximum === "number" && value > maximum) faults.push(`Must be ${maximum} or less.`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) faults.push(`Must be more than ${exclusiveMinimum}.`);
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) faults.push(`Must be less than ${exclusiveMaximum}.`);
  if (Number.isInteger(multipleOf) && Number.isInteger(value) && value % (multipleOf as number) !== 0)
    faults.push(`Must be a multiple of ${multipleOf}.`);
  return faults;
}

function limit(schema: Schema, key: string): number | null {
  const value = schema[key];
  return typeof value === "number" ? value : null;
}

/** What a field allows, in a few words: shown beside its name. */
export function limitsText(schema: Schema): string {
  const parts: string[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, multipleOf } = schema;
  if (typeof minimum === "number") parts.push(`≥ ${minimum}`);
  if (typeof exclusiveMinimum === "number") parts.push(`> ${exclusiveMinimum}`);
  if (typeof maximum === "number") parts.push(`≤ ${maximum}`);
  if (typeof exclusiveMaximum === "number") parts.push(`< ${exclusiveMaximum}`);
  if (typeof multipleOf === "number") parts.push(`multiple of ${multipleOf}`);
  if (typeof minLength === "number" || typeof maxLength === "number") parts.push(`${span(minLength, maxLength)} characters`);
  if ((typeof minItems === "number" || typeof maxItems === "number") && !Array.isArray(schema.prefixItems))
    parts.push(`${span(minItems, maxItems)} items`);
  return parts.join(", ");
}

function span(least: Maybe, most: Maybe): string {
  if (typeof least === "number" && typeof most === "number") return least === most ? `${least}` : `${least}–${most}`;
  return typeof least === "number" ? `at least ${least}` : `at most ${String(most)}`;
}

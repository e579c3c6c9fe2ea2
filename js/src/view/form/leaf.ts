import type { Json } from "../../wire/index";
import { equal, isExact, lostNumber } from "../json";
import type { Plan, Schema } from "./schema";
import { isDots } from "./secret";

/** What a browser can say about one value that is no group, list or union; nothing the kernel would not say (W2.8). */
export function leafFaults(plan: Plan, schema: Schema, value: Json): string[] {
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
      if (plan.integer && isExact(value)) return []; // the kernel knows its bounds
      if (typeof value !== "number") return ["Must be a number."];
      if (plan.integer && !Number.isInteger(value)) return ["Must be a whole number."];
      // A number with a fraction is the same in Python; only of a whole one digits may have been lost on the way here.
      return [...(plan.integer || !Number.isFinite(value) ? exactness(value) : []), ...range(schema, value)];
    case "decimal":
      return decimalFaults(plan.limits, value);
    case "any":
      return exactness(value);
    case "string":
      return typeof value === "string" ? textFaults(schema, value) : ["Must be text."];
    case "secret":
      return !plan.text || (typeof value === "string" && isDots(value)) || value === null
        ? []
        : typeof value === "string"
          ? textFaults(schema, value)
          : ["Must be text."];
    default:
      return [];
  }
}

/** Names the choices while they are few: beside raw JSON nobody sees them. */
const offered = (options: readonly Json[]): string =>
  options.length <= 8 ? `Must be one of ${options.map((option) => JSON.stringify(option)).join(", ")}.` : "Must be one of the choices.";

function decimalFaults(limits: Schema, value: Json): string[] {
  if (typeof value === "number") return [...exactness(value), ...range(limits, value)];
  if (typeof value !== "string") return ["Must be a number."];
  if (!/^\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/.test(value)) {
    return /^\s*[+-]?(nan|inf(inity)?)\s*$/i.test(value) ? [] : ["Must be a number, such as 12.50."];
  }
  return range(limits, Number(value.replaceAll("_", "")));
}

function textFaults(schema: Schema, value: string): string[] {
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

/** How texts of a format look. It tells the members of a union apart and says nothing else: the kernel knows the formats. */
const LOOKS: Readonly<Record<string, RegExp>> = {
  date: /^\s*\d{4}-\d\d-\d\d\s*$/,
  "date-time": /^\s*\d{4}-\d\d-\d\d[Tt _]\d/,
  duration: /^[+-]?([Pp]|\d+[: ])/,
  uuid: /^[{]?(urn:uuid:)?[\da-f]{8}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{4}-?[\da-f]{12}[}]?$/i,
  uri: /^[a-z][a-z\d+.-]*:/i,
  email: /.@./,
  ipv4: /^\d+\.\d+\.\d+\.\d+$/,
  ipv6: /^[\da-f.]*:[\da-f:.]*$/i,
};

/** May a text be one of this schema, as far as its looks go? */
export const looksLike = (schema: Schema, value: Json): boolean =>
  typeof value !== "string" || typeof schema.format !== "string" || (LOOKS[schema.format]?.test(value) ?? true);

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

export function limit(schema: Schema, key: string): number | null {
  const value = schema[key];
  return typeof value === "number" ? value : null;
}

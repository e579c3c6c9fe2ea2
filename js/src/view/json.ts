import type { Json, JsonObject } from "../wire/index";

export type Path = readonly (string | number)[];

/** A value that may be missing: JSON has no word for "not given". */
export type Maybe = Json | undefined;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Equality of JSON values; the order of keys does not count. */
export function equal(a: Maybe, b: Maybe): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, index) => equal(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

export function getAt(value: Maybe, path: Path): Maybe {
  let found: Maybe = value;
  for (const step of path) {
    if (Array.isArray(found) && typeof step === "number") found = found[step];
    else if (isObject(found) && typeof step === "string" && Object.hasOwn(found, step)) found = found[step];
    else return undefined;
  }
  return found;
}

/** A copy of `value` with `next` at `path`: undefined takes the key out. Everything beside the path is the same object as before. */
export function setAt(value: Maybe, path: Path, next: Maybe): Maybe {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === "number") {
    const items: Maybe[] = Array.isArray(value) ? [...value] : [];
    items[step] = setAt(items[step], rest, next);
    return items as Json[];
  }
  const fields = isObject(value) ? value : {};
  const changed = setAt(Object.hasOwn(fields, step) ? fields[step] : undefined, rest, next);
  if (changed === undefined) return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== step));
  // Not an object spread with a computed key alone: "__proto__" is a key like any other.
  if (Object.hasOwn(fields, step))
    return Object.fromEntries(Object.entries(fields).map(([key, old]) => [key, key === step ? changed : old]));
  return Object.fromEntries([...Object.entries(fields), [step, changed]]);
}

export function parseJson(text: string): { ok: true; value: Json } | { ok: false; problem: string } {
  if (text.trim() === "") return { ok: false, problem: "Nothing here yet: write a JSON value." };
  try {
    const value = JSON.parse(text) as Json;
    const lost = lostNumber(value);
    return lost === null ? { ok: true, value } : { ok: false, problem: lost };
  } catch (error) {
    return { ok: false, problem: `This is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

/**
 * A number in the value that a browser cannot hold: a whole number beyond 2^53 loses digits, one beyond all bounds becomes null when it
 * is written. Sending it would change it unseen. Null where there is none.
 */
export function lostNumber(value: Maybe): string | null {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) return "This number is too large.";
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? "A browser cannot hold this number exactly: answer it from code."
      : null;
  }
  const inner = Array.isArray(value) ? value : isObject(value) ? Object.values(value) : [];
  for (const item of inner) {
    const lost = lostNumber(item);
    if (lost !== null) return lost;
  }
  return null;
}

/** A whole number that a browser cannot hold, as the text of its digits: so it comes from the kernel and goes there (W2.8). */
export const isExact = (value: Maybe): value is string =>
  typeof value === "string" && /^-?\d{16,4300}$/.test(value) && !Number.isSafeInteger(Number(value));

export const pretty = (value: Maybe): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

/** A short text for one line: a string as it is, anything else as JSON. */
export function brief(value: Maybe, limit = 60): string {
  const text = typeof value === "string" ? value : value === undefined ? "not given" : JSON.stringify(value);
  const letters = Array.from(text);
  return letters.length > limit ? `${letters.slice(0, limit - 1).join("")}…` : text;
}

export const pathKey = (path: Path): string => JSON.stringify(path);

import type { Json } from "../wire/index";
import { isDots, TYPED_SECRET } from "./form/secret";
import { isObject, type Maybe } from "./json";
import { UNSEEN } from "./unseen";

/** Stands for what is not written down: a value nobody has given, or a secret. Python refuses to answer with it. */
const NOT_WRITTEN = "...";

/** A JSON value as Python writes it, on one line. Secrets are left out. A number that a browser cannot hold is a bigint. */
export function python(value: Maybe): string {
  if (value === undefined) return NOT_WRITTEN;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return value === TYPED_SECRET || isDots(value) ? NOT_WRITTEN : pythonText(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (isObject(value))
    return `{${Object.entries(value)
      .map(([key, item]) => `${pythonText(key)}: ${python(item)}`)
      .join(", ")}}`;
  return String(value);
}

/** JSON's escapes are Python's too; what is not seen is escaped besides, so that the line is all there is. */
function pythonText(text: string): string {
  return JSON.stringify(text).replaceAll(UNSEEN, (run) => Array.from(run, escaped).join(""));
}

function escaped(one: string): string {
  const code = one.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}

export type { Json };

import type { Json } from "../../wire/index";
import { isObject, type Maybe } from "../json";
import { apart, atIndex, atKey } from "./apart";
import type { Schema } from "./schema";

/** Stands for a secret that a person has typed, where it is only looked at (rule 3.8.4). */
export const TYPED_SECRET = "•••••••• (typed)";

/** Whether a text is the kernel's stand-in for a secret. */
export const isDots = (text: string): boolean => /^•{8,}$/.test(text);

/**
 * The value as it may be shown: what its schema marks as secret is dots. The kernel's own dots, which stand for what is stored, stay as
 * they are.
 */
export function hideSecrets(root: Schema, schema: Schema, value: Maybe): Maybe {
  return value === undefined ? undefined : hide(root, [schema], value);
}

function hide(root: Schema, schemas: readonly Schema[], value: Json): Json {
  if (value === null) return value;
  const members = schemas.flatMap((schema) => apart(root, schema));
  if (members.some((member) => member.writeOnly === true)) return typeof value === "string" && isDots(value) ? value : TYPED_SECRET;
  if (Array.isArray(value)) return value.map((item, at) => hide(root, atIndex(members, at), item));
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, hide(root, atKey(members, key), item)]));
  return value;
}

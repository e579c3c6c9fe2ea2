import type { Json } from "../../wire/index";
import { isExact, isObject, type Maybe, type Path } from "../json";
import { apart, atIndex, atKey, UNIONS } from "./apart";
import type { Schema } from "./schema";

/**
 * Does the place take a whole number, and no text that could be meant instead? There, and nowhere else, the kernel takes the digits of a
 * number that a browser cannot hold for that number; the rule is the kernel's, told here once more.
 */
export function takesExact(root: Schema, path: Path): boolean {
  let members = apart(root, root);
  for (const step of path) {
    const inner = typeof step === "number" ? atIndex(members, step) : atKey(members, step);
    members = inner.flatMap((schema) => apart(root, schema));
  }
  return alone(members);
}

/** The value with such digits as the numbers they are: to be written down, not to be kept. */
export function withNumbers(schema: Schema, value: Maybe): Maybe {
  return value === undefined ? undefined : numbered(schema, [schema], value);
}

function numbered(root: Schema, schemas: readonly Schema[], value: Json): Json {
  const members = schemas.flatMap((schema) => apart(root, schema));
  if (Array.isArray(value)) return value.map((item, at) => numbered(root, atIndex(members, at), item));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, numbered(root, atKey(members, key), item)]));
  return isExact(value) && alone(members) ? (BigInt(value) as unknown as Json) : value;
}

const alone = (members: readonly Schema[]) =>
  members.some((member) => member.type === "integer") &&
  members.every(
    (member) =>
      !("enum" in member || "const" in member) &&
      (typeof member.type === "string" ? member.type !== "string" : UNIONS.some((union) => union in member)),
  );

import type { Maybe } from "../json";
import type { Schema } from "./schema";

/** What a field allows, in a few words: shown beside its name. */
export function limitsText(schema: Schema): string {
  const parts: string[] = [];
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  if (typeof minimum === "number" || typeof maximum === "number") parts.push(span(minimum, maximum));
  if (typeof exclusiveMinimum === "number") parts.push(`more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === "number") parts.push(`less than ${exclusiveMaximum}`);
  if (typeof multipleOf === "number") parts.push(`multiple of ${multipleOf}`);
  const count = (least: Maybe, most: Maybe, what: string) => {
    if (typeof least !== "number" && typeof most !== "number") return;
    parts.push(`${span(least, most)} ${what}${(most ?? least) === 1 ? "" : "s"}`);
  };
  count(schema.minLength, schema.maxLength, "character");
  if (!Array.isArray(schema.prefixItems)) count(schema.minItems, schema.maxItems, "item");
  count(schema.minProperties, schema.maxProperties, "name");
  return parts.join(", ");
}

function span(least: Maybe, most: Maybe): string {
  if (typeof least === "number" && typeof most === "number") return least === most ? `${least}` : `${least} to ${most}`;
  return typeof least === "number" ? `at least ${least}` : `at most ${String(most)}`;
}

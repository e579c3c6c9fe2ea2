import { isObject, type Maybe } from "../json";
import { asSchema, resolve, type Schema } from "./schema";

export const UNIONS = ["anyOf", "oneOf", "allOf"];

/** A schema with references followed and unions taken apart. */
export function apart(root: Schema, schema: Schema, depth = 0): Schema[] {
  const found = resolve(root, schema);
  const inner = UNIONS.flatMap((union) => (Array.isArray(found[union]) ? found[union] : []));
  return depth > 8 ? [found] : [found, ...schemas(inner).flatMap((one) => apart(root, one, depth + 1))];
}

export function atKey(members: readonly Schema[], key: string): Schema[] {
  return schemas(
    members.flatMap((member) => {
      const properties = asSchema(member.properties);
      if (Object.hasOwn(properties, key)) return [properties[key]];
      const patterns = Object.values(asSchema(member.patternProperties));
      return [...patterns, member.additionalProperties ?? saysNothing(member, "object", "properties", "patternProperties")];
    }),
  );
}

export function atIndex(members: readonly Schema[], at: number): Schema[] {
  return schemas(
    members.map((member) => {
      const first = Array.isArray(member.prefixItems) ? member.prefixItems : [];
      return at < first.length ? first[at] : (member.items ?? saysNothing(member, "array", "prefixItems"));
    }),
  );
}

/** Whether a member takes an object, or a list, of anything. */
const saysNothing = (member: Schema, kind: string, ...inner: string[]) =>
  (member.type ?? kind) === kind && ![...UNIONS, "enum", "const", ...inner].some((keyword) => keyword in member);

/**
 * The schemas among the values, each once: members of a union often hold the same, and twice as many at each level is too many. True is
 * a schema that allows anything.
 */
const schemas = (values: readonly Maybe[]): Schema[] =>
  [...new Set(values)].filter((value) => value === true || isObject(value)).map(asSchema);

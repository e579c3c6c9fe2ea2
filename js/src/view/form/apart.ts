import { isObject } from "../json";
import { asSchema, resolve, type Schema } from "./schema";

/** A schema with references followed and unions taken apart. */
export function apart(root: Schema, schema: Schema, depth = 0): Schema[] {
  const found = resolve(root, schema);
  const inner = [found.anyOf, found.oneOf, found.allOf].flatMap((many) => (Array.isArray(many) ? many : []));
  return depth > 8 ? [found] : [found, ...inner.flatMap((one) => apart(root, asSchema(one), depth + 1))];
}

export function atKey(members: readonly Schema[], key: string): Schema[] {
  return members.flatMap((member) => {
    const properties = asSchema(member.properties);
    if (Object.hasOwn(properties, key)) return [asSchema(properties[key])];
    const patterns = Object.values(asSchema(member.patternProperties)).map(asSchema);
    return isObject(member.additionalProperties) ? [...patterns, member.additionalProperties] : patterns;
  });
}

export function atIndex(members: readonly Schema[], at: number): Schema[] {
  return members.flatMap((member) => {
    const first = Array.isArray(member.prefixItems) ? member.prefixItems : [];
    const found = at < first.length ? first[at] : member.items;
    return isObject(found) ? [found] : [];
  });
}

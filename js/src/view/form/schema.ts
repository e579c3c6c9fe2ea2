import type { Json, JsonObject } from "../../wire/index";
import { isObject } from "../json";

export type Schema = JsonObject;

/** How a field is drawn: what is left of a schema once references and unions have been sorted out. */
export type Plan =
  | { kind: "any" }
  | { kind: "null" }
  | { kind: "const"; value: Json }
  | { kind: "enum"; options: Json[] }
  | { kind: "boolean" }
  | { kind: "number"; integer: boolean }
  | { kind: "decimal"; limits: Schema }
  | { kind: "string"; format: string | null }
  | { kind: "secret"; text: boolean }
  | ObjectPlan
  | { kind: "array"; items: Schema | null; prefix: Schema[]; least: number; unique: boolean }
  | { kind: "union"; branches: Schema[]; nullable: boolean };

interface ObjectPlan {
  kind: "object";
  fields: [string, Schema][];
  required: ReadonlySet<string>;
  /** What other names hold: a schema, anything (true), or nothing: there are none (false). */
  extra: Schema | boolean;
  /** What other names may be called; null where the schema does not say. */
  names: Schema | null;
  /** Whether the schema asks for other names, and does not merely say nothing of them. */
  open: boolean;
  /** Whether the schema says nothing of other names. */
  silent: boolean;
  /** The field that says which member of a union this is. */
  tag: string | null;
}

const ANY: Schema = {};
/** Marks that the renderer puts on a union's branches: two branches that are one decimal, and the field that tells branches apart. */
const DECIMAL = "x-decimal";
const TAG = "x-tag";
const TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"];

export const asSchema = (value: Json | undefined): Schema => (isObject(value) ? value : ANY);

/** Follow `$ref` (with what stands beside it) and a lone `allOf`; a reference that leads nowhere is a schema that allows anything. */
export function resolve(root: Schema, schema: Schema): Schema {
  let found = schema;
  for (let hops = 0; hops < 32; hops += 1) {
    const { $ref, allOf, ...beside } = found;
    if (typeof $ref === "string") found = { ...pointed(root, $ref), ...beside };
    else if (Array.isArray(allOf) && allOf.length === 1) found = { ...asSchema(allOf[0]), ...beside };
    else return found;
  }
  return ANY;
}

function pointed(root: Schema, ref: string): Schema {
  if (!ref.startsWith("#")) return ANY;
  let found: Json | undefined = root;
  for (const step of ref.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return asSchema(found);
}

/** What a schema asks a form to draw. Lazy: only this level is looked at, so recursion costs nothing. */
export function planOf(root: Schema, given: Schema): Plan {
  const schema = resolve(root, given);
  if (schema.writeOnly === true) return { kind: "secret", text: schema.type === "string" };
  if ("const" in schema) return { kind: "const", value: schema.const ?? null };
  if (Array.isArray(schema.enum)) {
    return schema.enum.length === 1 ? { kind: "const", value: schema.enum[0] ?? null } : { kind: "enum", options: schema.enum };
  }
  if (Array.isArray(schema.allOf)) return { kind: "any" };
  const branches = unionBranches(root, schema);
  if (branches !== null) return unionPlan(root, branches);
  switch (typeOf(schema)) {
    case "null":
      return { kind: "null" };
    case "boolean":
      return { kind: "boolean" };
    case "integer":
      return { kind: "number", integer: true };
    case "number":
      return { kind: "number", integer: false };
    case "string":
      return { kind: "string", format: typeof schema.format === "string" ? schema.format : null };
    case "array":
      return arrayPlan(schema);
    case "object":
      return objectPlan(schema);
    default:
      return { kind: "any" };
  }
}

/** The branches of a union, nested unions flattened in their order; null where the schema is none. */
function unionBranches(root: Schema, schema: Schema, depth = 0): Schema[] | null {
  const given = Array.isArray(schema.anyOf) ? schema.anyOf : Array.isArray(schema.oneOf) ? schema.oneOf : null;
  if (given === null) {
    if (!Array.isArray(schema.type)) return null;
    const { anyOf: _a, oneOf: _o, default: _d, ...rest } = schema;
    return schema.type.map((type) => ({ ...rest, type }));
  }
  // A union that contains itself adds nothing by that.
  if (depth > 8) return [];
  const tag = asSchema(schema.discriminator).propertyName;
  return given.flatMap((branch) => {
    const inner = resolve(root, asSchema(branch));
    const own = unionBranches(root, inner, depth + 1) ?? [asSchema(branch)];
    return typeof tag === "string" ? own.map((one) => ({ ...one, [TAG]: tag })) : own;
  });
}

function unionPlan(root: Schema, branches: Schema[]): Plan {
  const nullable = branches.some((branch) => planOf(root, branch).kind === "null");
  const rest = joinDecimals(
    root,
    branches.filter((branch) => planOf(root, branch).kind !== "null"),
  );
  if (rest.length === 0) return { kind: "null" };
  const [only] = rest;
  if (rest.length === 1 && only !== undefined && !nullable) return branchPlan(root, only);
  return { kind: "union", branches: rest, nullable };
}

/** The kernel writes a Decimal as a number or a text of format "decimal": one text field, so that no digit is lost. */
function joinDecimals(root: Schema, branches: Schema[]): Schema[] {
  return branches.flatMap((branch, index) => {
    const [before, own, after] = [branches[index - 1], resolve(root, branch), branches[index + 1]];
    if (own.type === "number" && after !== undefined && isDecimalText(resolve(root, after))) return [{ [DECIMAL]: own }];
    const joined = isDecimalText(own) && before !== undefined && resolve(root, before).type === "number";
    return joined ? [] : [branch];
  });
}

const isDecimalText = (schema: Schema) => schema.type === "string" && schema.format === "decimal";

/** Like `planOf`, for a branch of a union: knows the stand-in for a decimal. */
export function branchPlan(root: Schema, branch: Schema): Plan {
  return DECIMAL in branch ? { kind: "decimal", limits: asSchema(branch[DECIMAL]) } : planOf(root, branch);
}

/** The schema with its references followed; of a decimal, its limits. */
export const fullSchema = (root: Schema, schema: Schema): Schema =>
  DECIMAL in schema ? { ...asSchema(schema[DECIMAL]), ...schema } : resolve(root, schema);

function typeOf(schema: Schema): string | null {
  if (typeof schema.type === "string" && TYPES.includes(schema.type)) return schema.type;
  if (isObject(schema.properties)) return "object";
  if (isObject(schema.items) || Array.isArray(schema.prefixItems)) return "array";
  return null;
}

function objectPlan(schema: Schema): ObjectPlan {
  const fields = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([key, field]): [string, Schema] => [
    key,
    asSchema(field),
  ]);
  const tag = typeof schema[TAG] === "string" ? schema[TAG] : null;
  const required = new Set(Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === "string") : []);
  if (tag !== null) required.add(tag);
  const patterns = Object.entries(asSchema(schema.patternProperties));
  const [pattern, inner] = patterns.length === 1 ? (patterns[0] ?? []) : [];
  const given = pattern === undefined ? schema.additionalProperties : inner;
  const names = isObject(schema.propertyNames) ? schema.propertyNames : pattern === undefined ? null : { type: "string", pattern };
  return {
    kind: "object",
    fields,
    required,
    extra: isObject(given) ? given : given !== false,
    names,
    open: isObject(given) || given === true || (given === undefined && fields.length === 0),
    silent: given === undefined,
    tag,
  };
}

function arrayPlan(schema: Schema): Plan {
  const prefix = Array.isArray(schema.prefixItems) ? schema.prefixItems.map(asSchema) : [];
  const least = typeof schema.minItems === "number" ? Math.min(schema.minItems, prefix.length) : 0;
  return { kind: "array", items: arrayItems(schema, prefix.length), prefix, least, unique: schema.uniqueItems === true };
}

/** The schema of the items after the prefix; null where there may be none. */
function arrayItems(schema: Schema, prefix: number): Schema | null {
  if (schema.items === false) return null;
  if (prefix > 0 && !isObject(schema.items) && schema.maxItems === prefix) return null;
  return asSchema(schema.items);
}

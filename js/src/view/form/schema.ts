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
  | { kind: "object"; fields: [string, Schema][]; required: ReadonlySet<string>; extra: Schema | boolean }
  | { kind: "array"; items: Schema | null; prefix: Schema[] }
  | { kind: "union"; branches: Schema[]; nullable: boolean };

const ANY: Schema = {};
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
      return { kind: "array", items: arrayItems(schema), prefix: prefixOf(schema) };
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
    const { anyOf: _a, oneOf: _o, ...rest } = schema;
    return schema.type.map((type) => ({ ...rest, type }));
  }
  // A union that contains itself adds nothing by that.
  if (depth > 8) return [];
  return given.flatMap((branch) => {
    const inner = resolve(root, asSchema(branch));
    return unionBranches(root, inner, depth + 1) ?? [asSchema(branch)];
  });
}

function unionPlan(root: Schema, branches: Schema[]): Plan {
  const nullable = branches.some((branch) => planOf(root, branch).kind === "null");
  const rest = branches.filter((branch) => planOf(root, branch).kind !== "null");
  if (rest.length === 0) return { kind: "null" };
  const number = rest.find((branch) => resolve(root, branch).type === "number");
  const text = rest.find((branch) => isPlainText(resolve(root, branch)));
  // pydantic writes a Decimal as a number or a string: one text field, so that no digit is lost.
  if (rest.length === 2 && number !== undefined && text !== undefined) {
    const decimal: Plan = { kind: "decimal", limits: resolve(root, number) };
    return nullable ? { kind: "union", branches: [{ "x-decimal": resolve(root, number) }], nullable } : decimal;
  }
  return { kind: "union", branches: rest, nullable };
}

const isPlainText = (schema: Schema) => schema.type === "string" && !("format" in schema) && !("enum" in schema) && !("const" in schema);

/** Like `planOf`, for a branch of a union: knows the stand-in for a decimal. */
export function branchPlan(root: Schema, branch: Schema): Plan {
  return "x-decimal" in branch ? { kind: "decimal", limits: asSchema(branch["x-decimal"]) } : planOf(root, branch);
}

function typeOf(schema: Schema): string | null {
  if (typeof schema.type === "string" && TYPES.includes(schema.type)) return schema.type;
  if (isObject(schema.properties)) return "object";
  if (isObject(schema.items) || Array.isArray(schema.prefixItems)) return "array";
  return null;
}

function objectPlan(schema: Schema): Plan {
  const fields = Object.entries(isObject(schema.properties) ? schema.properties : {}).map(([key, field]): [string, Schema] => [
    key,
    asSchema(field),
  ]);
  const required = new Set(Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === "string") : []);
  const extra = schema.additionalProperties;
  return { kind: "object", fields, required, extra: isObject(extra) ? extra : extra !== false };
}

const prefixOf = (schema: Schema): Schema[] => (Array.isArray(schema.prefixItems) ? schema.prefixItems.map(asSchema) : []);

/** The schema of the items after the prefix; null where there may be none. */
function arrayItems(schema: Schema): Schema | null {
  if (schema.items === false) return null;
  const prefix = prefixOf(schema).length;
  if (prefix > 0 && !isObject(schema.items) && schema.maxItems === prefix) return null;
  return asSchema(schema.items);
}

/** The name a person sees for a branch of a union. */
export function branchName(root: Schema, branch: Schema): string {
  if ("x-decimal" in branch) return "number";
  const schema = resolve(root, branch);
  const plan = planOf(root, branch);
  if (plan.kind === "object" && typeof schema.title === "string") return schema.title;
  return kindName(root, branch);
}

/** What a field takes, in a word or two. */
export function kindName(root: Schema, schema: Schema): string {
  const plan = branchPlan(root, schema);
  switch (plan.kind) {
    case "any":
      return "any JSON";
    case "null":
      return "nothing";
    case "const":
      return typeof plan.value === "string" ? plan.value : JSON.stringify(plan.value);
    case "enum":
      return "choice";
    case "boolean":
      return "yes or no";
    case "number":
      return plan.integer ? "whole number" : "number";
    case "decimal":
      return "decimal number";
    case "string":
      return plan.format === null ? "text" : (FORMAT_NAMES[plan.format] ?? plan.format);
    case "object":
      return plan.fields.length === 0 && isObject(plan.extra) ? "named values" : "group";
    case "array":
      return "list";
    case "union":
      return [...plan.branches.map((branch) => branchName(root, branch)), ...(plan.nullable ? ["nothing"] : [])].join(" or ");
  }
}

export const FORMAT_NAMES: Readonly<Record<string, string>> = {
  date: "date",
  "date-time": "date and time",
  time: "time",
  duration: "duration",
  uuid: "UUID",
  uri: "address (URL)",
  email: "e-mail",
  password: "secret",
  binary: "bytes",
};

/** An example of how a format is written. */
export const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  date: "2026-11-30",
  "date-time": "2026-11-30T14:05:00Z",
  time: "14:05:00",
  duration: "PT5M",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
};

import { isObject, type Maybe, type Path } from "../json";
import { branchOf } from "./fit";
import { asSchema, branchPlan, type Schema } from "./schema";

/**
 * Where in a form a problem of the kernel belongs. A validator's path also names members of unions (`pet, dog, breed`): a step that
 * is no key of the value here and no field of the schema is left out. A missing field is a field of the schema, so it keeps its place.
 */
export function formPath(root: Schema, schema: Schema, value: Maybe, path: Path): Path {
  const found: (string | number)[] = [];
  let here: Maybe = value;
  let of: Schema = schema;
  for (const step of path) {
    const next = descend(root, of, here, step);
    if (next === null) continue;
    found.push(step);
    here = next.value;
    of = next.schema;
  }
  return found;
}

function descend(root: Schema, schema: Schema, value: Maybe, step: string | number): { value: Maybe; schema: Schema } | null {
  let plan = branchPlan(root, schema);
  if (plan.kind === "union") {
    const branch = plan.branches[branchOf(root, plan.branches, value)];
    plan = branch === undefined ? { kind: "any" } : branchPlan(root, branch);
  }
  if (plan.kind === "object" && typeof step === "string") {
    const field = plan.fields.find(([key]) => key === step)?.[1];
    const given = isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;
    if (field !== undefined) return { value: given, schema: field };
    return given === undefined ? null : { value: given, schema: asSchema(typeof plan.extra === "boolean" ? {} : plan.extra) };
  }
  if (plan.kind === "array" && typeof step === "number") {
    const item = Array.isArray(value) ? value[step] : undefined;
    const of = plan.prefix[step] ?? plan.items;
    return item === undefined && plan.prefix[step] === undefined ? null : { value: item, schema: of ?? {} };
  }
  if (isObject(value) && typeof step === "string" && Object.hasOwn(value, step)) return { value: value[step], schema: {} };
  if (Array.isArray(value) && typeof step === "number" && step < value.length) return { value: value[step], schema: {} };
  return null;
}

import { branchPlan, type Plan, resolve, type Schema } from "./schema";

/** The name a person sees for a branch of a union. */
export function branchName(root: Schema, branch: Schema): string {
  const plan = branchPlan(root, branch);
  const { title } = resolve(root, branch);
  if (plan.kind === "object" && typeof title === "string") return title;
  // Beside other kinds "yes or no" would read like two of them.
  if (plan.kind === "boolean") return "yes/no";
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
    case "secret":
      return "secret";
    case "string":
      return plan.format === null ? "text" : (FORMAT_NAMES[plan.format] ?? "text");
    case "object":
      return plan.fields.length === 0 && plan.open ? "named values" : "group";
    case "array":
      return plan.items === null || plan.prefix.length > 0 || VAGUE.has(branchPlan(root, plan.items).kind)
        ? "list"
        : `list of ${branchName(root, plan.items)}`;
    case "union":
      return listed([...plan.branches.map((branch) => branchName(root, branch)), ...(plan.nullable ? ["nothing"] : [])]);
  }
}

/** What would say nothing, or too much, of the items of a list. */
const VAGUE: ReadonlySet<Plan["kind"]> = new Set(["any", "union", "array"]);

const listed = (names: readonly string[]) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" or ");

const FORMAT_NAMES: Readonly<Record<string, string>> = {
  date: "date",
  "date-time": "date and time",
  time: "time",
  duration: "duration",
  uuid: "UUID",
  uri: "address (URL)",
  email: "e-mail",
  "name-email": "name and e-mail",
  ipv4: "IPv4 address",
  ipv6: "IPv6 address",
  ipvanyaddress: "IP address",
  ipv4network: "IPv4 network",
  ipv6network: "IPv6 network",
  ipvanynetwork: "IP network",
  binary: "bytes",
  base64: "bytes in base64",
  base64url: "bytes in base64",
  decimal: "decimal number",
  path: "path",
  regex: "regular expression",
};

/** Formats that no empty text has: a field that was cleared is then a field not given. */
export const NEVER_EMPTY: ReadonlySet<string> = new Set(
  Object.keys(FORMAT_NAMES).filter((format) => !["binary", "base64", "base64url", "path", "regex"].includes(format)),
);

/** Formats written in one line. */
export const ONE_LINE: ReadonlySet<string> = new Set([...NEVER_EMPTY, "base64", "base64url", "path", "regex"]);

/** An example of how a format is written. */
export const FORMAT_EXAMPLES: Readonly<Record<string, string>> = {
  date: "2026-11-30",
  "date-time": "2026-11-30T14:05:00Z",
  time: "14:05:00",
  duration: "PT5M",
  uuid: "123e4567-e89b-12d3-a456-426614174000",
};

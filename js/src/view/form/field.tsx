import type { ComponentChildren } from "preact";
import { lostNumber, type Path } from "../json";
import { Plain } from "../text";
import { check } from "./check";
import { defaultName } from "./common";
import { Control } from "./control";
import { shownAsJson } from "./fit";
import { useHeld } from "./held";
import { limitsText } from "./limits";
import { Misfit } from "./misfit";
import { kindName } from "./names";
import { branchPlan, fullSchema, type Plan, type Schema } from "./schema";
import { type FormScope, fieldId, useForm } from "./scope";

interface FieldProps {
  path: Path;
  schema: Schema;
  label: string;
  required: boolean;
  /** Controls beside the name, such as an entry's other name. */
  beside?: ComponentChildren;
  /** What takes it out, in place of "leave out". */
  out?: ComponentChildren;
  /** One of several of a kind, which the list has named. */
  item?: boolean;
}

const GROUPS = new Set<Plan["kind"]>(["object", "array"]);

/** One place of a form: its name, what it takes, its control, and what is wrong with it. */
export function Field({ path, schema, label, required, beside, out, item = false }: FieldProps) {
  const form = useForm();
  const value = form.valueAt(path);
  const plan = branchPlan(form.root, schema);
  const full = fullSchema(form.root, schema);
  const json = shownAsJson(form.root, schema, value);
  const kinds = plan.kind === "union" && plan.branches.length > 1;
  const { held, hold } = useHeld(json && !kinds);
  const kind = kindName(form.root, schema);
  const faults = form.faultsAt(path, json);
  // What stands here is not what was proposed: that is said at once.
  const lost = (plan.kind === "number" && plan.integer) || json ? lostNumber(value) : null;
  const ids = { label: fieldId(form, path, "-name"), about: fieldId(form, path, "-about"), faults: fieldId(form, path, "-faults") };
  const about = typeof full.description === "string" ? full.description.trim() : "";
  const absent = !required && value === undefined && path.length > 0;
  const said = [about !== "" && ids.about, absent && `${ids.about}-absent`, faults.length > 0 && ids.faults];
  const describedBy = said.filter(Boolean).join(" ") || undefined;
  const group = !json && !held && GROUPS.has(plan.kind);
  const notes = [item ? "" : kind, limitsText(full), required ? "" : "optional", full.deprecated === true ? "deprecated" : ""];
  const name = <Plain text={label} />;
  const line = !group && !holdsGroups(form.root, plan);
  const leave = !required && value !== undefined && path.length > 0 && beside === undefined && out === undefined && (
    <button
      type="button"
      class="llm4s-button llm4s-quiet llm4s-small llm4s-leave"
      aria-label={`Leave out ${label}`}
      disabled={form.disabled}
      onClick={() => {
        form.edit(path, undefined);
        form.focus(path);
      }}
    >
      leave out
    </button>
  );
  return (
    <div
      {...hold}
      class={`llm4s-field${group ? " llm4s-group" : ""}${line ? " llm4s-line" : ""}`}
      {...(group ? { role: "group" as const, "aria-labelledby": ids.label } : {})}
    >
      <div class={`llm4s-field-head${group && path.length === 0 ? " llm4s-sr" : ""}`}>
        <div class="llm4s-field-title">
          {group ? (
            <span class="llm4s-field-name" id={ids.label}>
              {name}
            </span>
          ) : (
            <label class="llm4s-field-name" id={ids.label} for={fieldId(form, path)}>
              {name}
            </label>
          )}
          <span class="llm4s-field-kind">{notes.filter(Boolean).join(" · ")}</span>
        </div>
        {!line && (out ?? leave)}
        {beside}
      </div>
      {about !== "" && (
        <p class="llm4s-about" id={ids.about}>
          <Plain text={about} />
        </p>
      )}
      {json && plan.kind !== "any" && !kinds && <Misfit kind={kind} />}
      {lost !== null && !faults.includes(lost) && <p class="llm4s-misfit">{lost}</p>}
      <Control path={path} schema={held ? {} : schema} describedBy={describedBy} labelledBy={ids.label} label={label} required={required} />
      {/* behind its field, as it is drawn: what is written is reached before what takes it out */}
      {line && (out ?? leave)}
      {absent && (
        <p class={`llm4s-hint${WRITTEN.has(onlyKind(form.root, plan)) ? " llm4s-sr" : ""}`} id={`${ids.about}-absent`}>
          {defaultText(full)}
        </p>
      )}
      <Faults
        form={form}
        path={path}
        id={ids.faults}
        faults={faults}
        offerEmpty={value === undefined && plan.kind === "string" && plan.format === null && check(form.root, schema, "").length === 0}
      />
    </div>
  );
}

/** What is written says itself, in its empty place, that nothing is given. */
const WRITTEN = new Set<Plan["kind"]>(["string", "number", "decimal", "secret"]);

const onlyKind = (root: Schema, plan: Plan) =>
  plan.kind === "union" && plan.branches.length === 1 ? branchPlan(root, plan.branches[0] ?? {}).kind : plan.kind;

/** May fields stand in the control? Then it needs the whole width. */
const holdsGroups = (root: Schema, plan: Plan) =>
  plan.kind === "union" && plan.branches.some((branch) => GROUPS.has(branchPlan(root, branch).kind));

function defaultText(schema: Schema): string {
  if (!("default" in schema)) return "Not given.";
  return `Not given: the default is used (${defaultName(schema.default)}).`;
}

interface FaultsProps {
  form: FormScope;
  path: Path;
  id: string;
  faults: readonly string[];
  offerEmpty: boolean;
}

function Faults({ form, path, id, faults, offerEmpty }: FaultsProps) {
  if (faults.length === 0) return null;
  return (
    <p class="llm4s-fault" id={id} data-testid="problem">
      <Plain text={faults.join(" ")} />
      {offerEmpty && (
        <button
          type="button"
          class="llm4s-button llm4s-quiet llm4s-small"
          onClick={() => {
            form.edit(path, "");
            form.focus(path);
          }}
        >
          use an empty text
        </button>
      )}
    </p>
  );
}

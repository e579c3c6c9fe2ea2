import type { ComponentChildren } from "preact";
import { brief, type Path } from "../json";
import { Plain } from "../text";
import { check } from "./check";
import { Control } from "./control";
import { shownAsJson } from "./fit";
import { limitsText } from "./limits";
import { kindName } from "./names";
import { branchPlan, fullSchema, type Plan, type Schema } from "./schema";
import { type FormScope, fieldId, useForm } from "./scope";

interface FieldProps {
  path: Path;
  schema: Schema;
  label: string;
  required: boolean;
  /** A control beside the name, such as an item's "remove". */
  beside?: ComponentChildren;
}

const GROUPS = new Set<Plan["kind"]>(["object", "array"]);

/** One place of a form: its name, what it takes, its control, and what is wrong with it. */
export function Field({ path, schema, label, required, beside }: FieldProps) {
  const form = useForm();
  const value = form.valueAt(path);
  const plan = branchPlan(form.root, schema);
  const full = fullSchema(form.root, schema);
  const json = shownAsJson(form.root, schema, value);
  const kind = kindName(form.root, schema);
  const faults = form.faultsAt(path, json);
  const ids = { label: fieldId(form, path, "-name"), about: fieldId(form, path, "-about"), faults: fieldId(form, path, "-faults") };
  const about = typeof full.description === "string" ? full.description.trim() : "";
  const describedBy = [about !== "" && ids.about, faults.length > 0 && ids.faults].filter(Boolean).join(" ") || undefined;
  const group = !json && GROUPS.has(plan.kind);
  const kinds = [kind, limitsText(full), required ? "" : "optional", full.deprecated === true ? "deprecated" : ""];
  const name = <Plain text={label} />;
  return (
    <div class={`llm4s-field${group ? " llm4s-group" : ""}`} {...(group ? { role: "group" as const, "aria-labelledby": ids.label } : {})}>
      <div class={`llm4s-field-head${path.length === 0 ? " llm4s-sr" : ""}`}>
        {group ? (
          <span class="llm4s-field-name" id={ids.label}>
            {name}
          </span>
        ) : (
          <label class="llm4s-field-name" id={ids.label} for={fieldId(form, path)}>
            {name}
          </label>
        )}
        <span class="llm4s-field-kind">{kinds.filter(Boolean).join(" · ")}</span>
        {!required && value !== undefined && path.length > 0 && beside === undefined && (
          <button
            type="button"
            class="llm4s-button llm4s-quiet llm4s-small"
            aria-label={`Leave out ${label}`}
            disabled={form.disabled}
            onClick={() => {
              form.edit(path, undefined);
              form.focus(path);
            }}
          >
            leave out
          </button>
        )}
        {beside}
      </div>
      {about !== "" && (
        <p class="llm4s-about" id={ids.about}>
          <Plain text={about} />
        </p>
      )}
      {json && plan.kind !== "any" && <p class="llm4s-misfit">{`Does not fit “${kind}”, so it is shown as it is, in JSON.`}</p>}
      <Control path={path} schema={schema} describedBy={describedBy} labelledBy={ids.label} label={label} required={required} />
      {!required && value === undefined && path.length > 0 && <p class="llm4s-hint">{defaultText(full)}</p>}
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

function defaultText(schema: Schema): string {
  if (!("default" in schema)) return "Not given.";
  const named = schema.default === "" ? "empty text" : schema.default === null ? "nothing" : brief(schema.default);
  return `Not given: the default is used (${named}).`;
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

import type { ComponentChildren } from "preact";
import { brief, type Path } from "../json";
import { Plain } from "../text";
import { ArrayControl } from "./array";
import { check, limitsText } from "./check";
import { shows } from "./fit";
import { ObjectControl } from "./object";
import { ChoiceControl, DecimalControl, FixedControl, JsonControl, NumberControl, TextControl } from "./scalar";
import { branchPlan, kindName, type Plan, resolve, type Schema } from "./schema";
import { type FormScope, fieldId, useForm } from "./scope";
import { UnionControl } from "./union";

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
  const full = "x-decimal" in schema ? {} : resolve(form.root, schema);
  const misfit = value !== undefined && !shows(plan, value);
  const faults = form.faultsAt(path);
  const ids = { label: fieldId(form, path, "-name"), about: fieldId(form, path, "-about"), faults: fieldId(form, path, "-faults") };
  const about = typeof full.description === "string" ? full.description : "";
  const describedBy = [about !== "" && ids.about, faults.length > 0 && ids.faults].filter(Boolean).join(" ") || undefined;
  const group = !misfit && GROUPS.has(plan.kind);
  const limits = limitsText(full);
  return (
    <div class={`llm4s-field${group ? " llm4s-group" : ""}`} {...(group ? { role: "group" as const, "aria-labelledby": ids.label } : {})}>
      <div class={`llm4s-field-head${group && path.length === 0 ? " llm4s-sr" : ""}`}>
        {group ? (
          <span class="llm4s-field-name" id={ids.label}>
            <Plain text={label} />
          </span>
        ) : (
          <label class="llm4s-field-name" id={ids.label} for={fieldId(form, path)}>
            <Plain text={label} />
          </label>
        )}
        <span class="llm4s-field-kind">
          {[kindName(form.root, schema), limits, required ? "" : "optional"].filter(Boolean).join(" · ")}
        </span>
        {!required && value !== undefined && path.length > 0 && beside === undefined && (
          <button
            type="button"
            class="llm4s-button llm4s-quiet llm4s-small"
            aria-label={`Leave out ${label}`}
            disabled={form.disabled}
            onClick={() => form.edit(path, undefined)}
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
      {misfit && <p class="llm4s-misfit">{`Does not fit “${kindName(form.root, schema)}”, so it is shown as it is, in JSON.`}</p>}
      <Control
        path={path}
        schema={misfit ? {} : schema}
        describedBy={describedBy}
        labelledBy={ids.label}
        label={label}
        required={required}
      />
      <Faults
        form={form}
        path={path}
        id={ids.faults}
        faults={faults}
        offerEmpty={value === undefined && plan.kind === "string" && plan.format === null && check(form.root, schema, "").length === 0}
      />
      {!required && value === undefined && path.length > 0 && <p class="llm4s-hint">{defaultText(full)}</p>}
    </div>
  );
}

function defaultText(schema: Schema): string {
  return "default" in schema
    ? `Not given: the default is used (${schema.default === "" ? "empty text" : brief(schema.default)}).`
    : "Not given.";
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
      {faults.join(" ")}
      {offerEmpty && (
        <button type="button" class="llm4s-button llm4s-quiet llm4s-small" onClick={() => form.edit(path, "")}>
          use an empty text
        </button>
      )}
    </p>
  );
}

interface AnyControlProps {
  path: Path;
  schema: Schema;
  describedBy: string | undefined;
  labelledBy: string;
  label: string;
  required: boolean;
}

/** The control a plan asks for. */
export function Control(props: AnyControlProps) {
  const form = useForm();
  const plan = branchPlan(form.root, props.schema);
  const schema = "x-decimal" in props.schema ? props.schema : resolve(form.root, props.schema);
  const given = { path: props.path, schema, describedBy: props.describedBy, labelledBy: props.labelledBy };
  switch (plan.kind) {
    case "any":
      return <JsonControl {...given} />;
    case "null":
    case "const":
      return <FixedControl {...given} plan={plan} />;
    case "enum":
      return <ChoiceControl {...given} options={namedOptions(plan.options)} />;
    case "boolean":
      return (
        <ChoiceControl
          {...given}
          options={[
            { name: "yes", value: true },
            { name: "no", value: false },
          ]}
        />
      );
    case "number":
      return <NumberControl {...given} integer={plan.integer} />;
    case "decimal":
      return <DecimalControl {...given} />;
    case "string":
      return <TextControl {...given} format={plan.format} />;
    case "object":
      return <ObjectControl path={props.path} plan={plan} required={props.required} label={props.label} />;
    case "array":
      return <ArrayControl path={props.path} plan={plan} label={props.label} />;
    case "union":
      return <UnionControl {...props} plan={plan} />;
  }
}

/** Names of choices: texts as they are, unless another choice reads the same. */
function namedOptions(options: readonly import("../../wire/index").Json[]) {
  const plain = options.map((option) => (typeof option === "string" ? option : JSON.stringify(option)));
  return options.map((value, index) => {
    const name = plain[index] ?? "";
    const doubled = plain.filter((other) => other === name).length > 1 || name === "";
    return { name: doubled ? JSON.stringify(value) : name, value };
  });
}

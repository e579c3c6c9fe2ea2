import { useState } from "preact/hooks";
import type { JsonObject } from "../../wire/index";
import { equal, isObject, type Path } from "../json";
import { oneLine } from "../unseen";
import { check } from "./check";
import { Field } from "./field";
import { blank } from "./fit";
import { branchPlan, type Plan, type Schema } from "./schema";
import { fieldId, useForm } from "./scope";

interface ObjectControlProps {
  path: Path;
  plan: Extract<Plan, { kind: "object" }>;
  required: boolean;
  label: string;
}

/** Groups that must be there are opened unasked down to here: a schema may require itself. */
const UNASKED_DEPTH = 10;

/** The fields of an object, then what it holds beside them. An optional group that is not given stays closed until asked for. */
export function ObjectControl({ path, plan, required, label }: ObjectControlProps) {
  const form = useForm();
  const value = form.valueAt(path);
  const open = isObject(value);
  if (!open && path.length > 0 && (!required || path.length > UNASKED_DEPTH)) {
    return (
      <button
        type="button"
        class="llm4s-button llm4s-small"
        id={fieldId(form, path)}
        disabled={form.disabled}
        onClick={() => {
          form.edit(path, blank(form.root, asGroup(plan)) ?? {});
          form.focus(path);
        }}
      >
        {`Add ${oneLine(label)}`}
      </button>
    );
  }
  const saidTag = open && plan.tag !== null && isSaid(form.root, plan, value) ? plan.tag : null;
  const known = new Set(plan.fields.map(([key]) => key));
  const others = open ? Object.keys(value).filter((key) => !known.has(key)) : [];
  const of = typeof plan.extra === "boolean" ? {} : plan.extra;
  return (
    <div class="llm4s-fields">
      {plan.fields
        .filter(([key]) => key !== saidTag)
        .map(([key, schema]) => (
          <Field
            key={`field ${key}`}
            path={[...path, key]}
            schema={schema}
            label={labelOf(key, schema)}
            required={plan.required.has(key)}
          />
        ))}
      {others.map((key) => (
        <Field
          key={`other ${key}`}
          path={[...path, key]}
          schema={of}
          label={nameOf(key)}
          required
          item={plan.open}
          beside={<Named path={path} name={key} renames={plan.open} known={known} />}
        />
      ))}
      {open && plan.open && plan.fields.length + others.length === 0 && <p class="llm4s-hint">No values.</p>}
      {plan.open && <AddNamed path={path} of={of} names={plan.names} known={known} label={label} />}
      {plan.fields.length === 0 && !plan.open && <p class="llm4s-hint">No fields.</p>}
    </div>
  );
}

/** Does the kind that was picked say all about the tag? A tag of several values is a field like another. */
function isSaid(root: Schema, plan: ObjectControlProps["plan"], value: JsonObject): boolean {
  const [key, schema] = plan.fields.find(([name]) => name === plan.tag) ?? [];
  const of = schema === undefined ? null : branchPlan(root, schema);
  return key !== undefined && of?.kind === "const" && Object.hasOwn(value, key) && equal(value[key], of.value);
}

/** The title that the field's author gave it, or its name. pydantic makes titles of names, which say nothing new. */
function labelOf(key: string, schema: Schema): string {
  const { title } = schema;
  return typeof title !== "string" || plainer(title) === plainer(key) || title.trim() === "" ? nameOf(key) : `${title} (${key})`;
}

const plainer = (text: string) =>
  text
    .replace(/[\s_]+/g, " ")
    .trim()
    .toLowerCase();

const nameOf = (key: string) => (key === "" ? "(empty name)" : key.trim() === "" ? JSON.stringify(key) : key);

function asGroup(plan: Extract<Plan, { kind: "object" }>): Schema {
  return { type: "object", properties: Object.fromEntries(plan.fields), required: [...plan.required] };
}

/** Rename or take out one of an object's named values. */
function Named({ path, name, renames, known }: { path: Path; name: string; renames: boolean; known: ReadonlySet<string> }) {
  const form = useForm();
  const [draft, setDraft] = useState<string | null>(null);
  const value = form.valueAt(path);
  if (!isObject(value)) return null;
  const taken = draft !== null && draft !== name && (Object.hasOwn(value, draft) || known.has(draft));
  const rename = () => {
    if (draft === null) return;
    if (draft !== name && !taken)
      form.edit(path, Object.fromEntries(Object.entries(value).map(([key, item]) => [key === name ? draft : key, item])));
    form.focus([...path, taken ? name : draft]);
    setDraft(null);
  };
  return (
    <span class="llm4s-beside">
      {renames && draft === null && (
        <button
          type="button"
          class="llm4s-button llm4s-quiet llm4s-small"
          aria-label={`Rename ${nameOf(name)}`}
          disabled={form.disabled}
          onClick={() => setDraft(name)}
        >
          rename
        </button>
      )}
      {draft !== null && (
        <>
          <input
            class="llm4s-input llm4s-key"
            aria-label={`New name of ${nameOf(name)}`}
            ref={(input) => input?.focus()}
            value={draft}
            onInput={(event) => setDraft(event.currentTarget.value)}
          />
          <button type="button" class="llm4s-button llm4s-small" disabled={taken} onClick={rename}>
            {taken ? "name is taken" : "rename"}
          </button>
        </>
      )}
      <button
        type="button"
        class="llm4s-button llm4s-quiet llm4s-small"
        aria-label={`Remove ${nameOf(name)}`}
        disabled={form.disabled}
        onClick={() => {
          form.edit([...path, name], undefined);
          form.focus(path);
        }}
      >
        remove
      </button>
    </span>
  );
}

interface AddNamedProps {
  path: Path;
  of: Schema;
  names: Schema | null;
  known: ReadonlySet<string>;
  label: string;
}

/** Begin a named value: a name, written or, where the schema lists the names, chosen. */
function AddNamed({ path, of, names, known, label }: AddNamedProps) {
  const form = useForm();
  const [name, setName] = useState("");
  const value = form.valueAt(path);
  const isTaken = (key: string) => known.has(key) || (isObject(value) && Object.hasOwn(value, key));
  const taken = isTaken(name);
  const misnamed = names === null ? [] : check(form.root, names, name);
  const listed = names === null ? null : branchPlan(form.root, names);
  const choices = listed?.kind === "enum" ? listed.options.map(String).filter((key) => !isTaken(key)) : null;
  const add = () => {
    if (taken) return;
    form.start([...path, name], of);
    form.focus([...path, name]);
    setName("");
  };
  const given = { class: "llm4s-input llm4s-key", id: fieldId(form, path), "aria-label": `Name of a new value in ${label}` };
  return (
    <div class="llm4s-add">
      {choices === null ? (
        <input
          {...given}
          placeholder="name"
          dir="auto"
          readOnly={form.disabled}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
      ) : (
        <select {...given} disabled={form.disabled || choices.length === 0} onChange={(event) => setName(event.currentTarget.value)}>
          <option value="" selected={name === ""}>
            {choices.length === 0 ? "all names are used" : "choose a name …"}
          </option>
          {choices.map((key) => (
            <option key={key} value={key} selected={key === name}>
              {oneLine(key)}
            </option>
          ))}
        </select>
      )}
      <button type="button" class="llm4s-button llm4s-small" disabled={form.disabled || taken || name === ""} onClick={add}>
        {taken && name !== "" ? "name is taken" : "Add"}
      </button>
      {name !== "" && misnamed.length > 0 && <span class="llm4s-hint">{misnamed.map((fault) => fault.message).join(" ")}</span>}
    </div>
  );
}

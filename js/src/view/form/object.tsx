import { useState } from "preact/hooks";
import { isObject, type Path } from "../json";
import { oneLine } from "../unseen";
import { Field } from "./field";
import { blank } from "./fit";
import type { Plan, Schema } from "./schema";
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
        onClick={() => form.edit(path, blank(form.root, asGroup(plan)) ?? {})}
      >
        {`Add ${oneLine(label)}`}
      </button>
    );
  }
  const known = new Set(plan.fields.map(([key]) => key));
  const others = open ? Object.keys(value).filter((key) => !known.has(key)) : [];
  const mapping = typeof plan.extra !== "boolean" || (plan.extra && plan.fields.length === 0);
  return (
    <div class="llm4s-fields">
      {plan.fields.map(([key, schema]) => (
        <Field key={`field ${key}`} path={[...path, key]} schema={schema} label={key} required={plan.required.has(key)} />
      ))}
      {others.map((key) => (
        <Field
          key={`other ${key}`}
          path={[...path, key]}
          schema={typeof plan.extra === "boolean" ? {} : plan.extra}
          label={key === "" ? "(empty name)" : key}
          required
          beside={<Named path={path} name={key} mapping={mapping} known={known} />}
        />
      ))}
      {mapping && <AddNamed path={path} of={typeof plan.extra === "boolean" ? {} : plan.extra} label={label} />}
      {!open && plan.fields.length === 0 && required && !mapping && <p class="llm4s-hint">No fields.</p>}
    </div>
  );
}

function asGroup(plan: Extract<Plan, { kind: "object" }>): Schema {
  return { type: "object", properties: Object.fromEntries(plan.fields), required: [...plan.required] };
}

/** Rename or take out one of an object's named values. */
function Named({ path, name, mapping, known }: { path: Path; name: string; mapping: boolean; known: ReadonlySet<string> }) {
  const form = useForm();
  const [draft, setDraft] = useState<string | null>(null);
  const value = form.valueAt(path);
  if (!isObject(value)) return null;
  const taken = draft !== null && draft !== name && (Object.hasOwn(value, draft) || known.has(draft));
  const rename = () => {
    if (draft === null) return;
    if (draft !== name && !taken)
      form.edit(path, Object.fromEntries(Object.entries(value).map(([key, item]) => [key === name ? draft : key, item])));
    setDraft(null);
  };
  return (
    <span class="llm4s-beside">
      {mapping && draft === null && (
        <button
          type="button"
          class="llm4s-button llm4s-quiet llm4s-small"
          aria-label={`Rename ${name}`}
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
            aria-label={`New name of ${name}`}
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
        aria-label={`Remove ${name}`}
        disabled={form.disabled}
        onClick={() => form.edit([...path, name], undefined)}
      >
        remove
      </button>
    </span>
  );
}

function AddNamed({ path, of, label }: { path: Path; of: Schema; label: string }) {
  const form = useForm();
  const [name, setName] = useState("");
  const value = form.valueAt(path);
  const taken = isObject(value) && Object.hasOwn(value, name);
  const add = () => {
    if (taken) return;
    form.start([...path, name], of);
    setName("");
  };
  return (
    <div class="llm4s-add">
      <input
        class="llm4s-input llm4s-key"
        id={fieldId(form, path)}
        aria-label={`Name of a new value in ${label}`}
        placeholder="name"
        readOnly={form.disabled}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <button type="button" class="llm4s-button llm4s-small" disabled={form.disabled || taken} onClick={add}>
        {taken ? "name is taken" : "Add"}
      </button>
    </div>
  );
}

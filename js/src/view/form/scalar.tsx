import { useRef, useState } from "preact/hooks";
import type { Json } from "../../wire/index";
import { brief, equal, type Maybe, type Path, parseJson, pretty } from "../json";
import { FORMAT_EXAMPLES, type Plan, type Schema } from "./schema";
import { fieldId, useForm } from "./scope";
import { isDots } from "./secret";
import { type Reading, useTyped } from "./typed";

export interface ControlProps {
  path: Path;
  schema: Schema;
  /** Ids of the texts that describe the control. */
  describedBy: string | undefined;
  labelledBy: string;
}

function useControl({ path, describedBy, labelledBy }: ControlProps) {
  const form = useForm();
  return {
    form,
    value: form.valueAt(path),
    attributes: {
      id: fieldId(form, path),
      "aria-describedby": describedBy,
      "aria-labelledby": labelledBy,
      "aria-invalid": form.faultsAt(path).length > 0 ? ("true" as const) : undefined,
      readOnly: form.disabled,
      onBlur: () => form.touch(path),
    },
  };
}

function hint(schema: Schema, value: Maybe, example = ""): string {
  if (value !== undefined) return "";
  return "default" in schema && schema.default !== null && schema.default !== "" ? `default: ${brief(schema.default)}` : example;
}

/** Text. Enter makes a new line where a text may have several and does nothing elsewhere: it never submits (F42). */
export function TextControl(props: ControlProps & { format: string | null }) {
  const { form, value, attributes } = useControl(props);
  const { schema, format, path } = props;
  const text = typeof value === "string" ? value : "";
  const single = (format !== null && format !== "binary") || typeof schema.pattern === "string";
  const [multiline] = useState(!single || text.includes("\n"));
  const onText = (next: string) =>
    form.edit(path, next === "" && format !== null && format !== "password" && format !== "binary" ? undefined : next);
  const placeholder = hint(schema, value, format === null ? "" : (FORMAT_EXAMPLES[format] ?? ""));
  if (multiline) {
    return (
      <textarea
        {...attributes}
        class="llm4s-input llm4s-textarea"
        dir="auto"
        rows={Math.min(10, Math.max(1, text.split("\n").length, Math.ceil(text.length / 60)))}
        value={text}
        placeholder={placeholder}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  if (format === "password") return <SecretControl {...props} />;
  return (
    <input
      {...attributes}
      class="llm4s-input"
      dir="auto"
      type="text"
      autocomplete="off"
      spellcheck={false}
      value={text}
      placeholder={placeholder}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/**
 * A secret. The dots that stand for the stored one are no text to type behind: the field is empty until something is typed, and empty again
 * it stands for the stored one again (rule 3.8.4).
 */
function SecretControl(props: ControlProps) {
  const { form, value, attributes } = useControl(props);
  const text = typeof value === "string" ? value : "";
  const dots = useRef<string | null>(null);
  const typed = useRef<string | null>(null);
  if (isDots(text)) dots.current = text;
  else if (text !== typed.current) dots.current = null;
  const onText = (next: string) => {
    typed.current = next;
    form.edit(props.path, next === "" && dots.current !== null ? dots.current : next);
  };
  return (
    <input
      {...attributes}
      class="llm4s-input"
      type="password"
      autocomplete="off"
      value={isDots(text) ? "" : text}
      placeholder={isDots(text) ? "•••••••• unchanged" : hint(props.schema, value)}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

export function NumberControl(props: ControlProps & { integer: boolean }) {
  const { value, attributes } = useControl(props);
  const [text, onText] = useTyped(props.path, (given) => (typeof given === "number" ? String(given) : ""), readNumber(props.integer));
  return (
    <input
      {...attributes}
      class="llm4s-input llm4s-number"
      type="text"
      inputMode={props.integer ? "numeric" : "decimal"}
      autocomplete="off"
      value={text}
      placeholder={hint(props.schema, value)}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

export const readNumber =
  (integer: boolean) =>
  (text: string): Reading => {
    const bare = text.trim();
    if (bare === "") return { value: undefined };
    if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(bare) || !Number.isFinite(Number(bare)))
      return { message: `“${brief(bare)}” is not a number.` };
    if (integer && !Number.isInteger(Number(bare))) return { message: `“${brief(bare)}” is not a whole number.` };
    return { value: Number(bare) };
  };

/** A decimal number stays text, so that no digit is lost; a number the model proposed stays a number until it is changed. */
export function DecimalControl(props: ControlProps) {
  const { form, value, attributes } = useControl(props);
  return (
    <input
      {...attributes}
      class="llm4s-input llm4s-number"
      type="text"
      inputMode="decimal"
      autocomplete="off"
      value={value === undefined ? "" : String(value)}
      placeholder={hint(props.schema, value)}
      onInput={(event) => form.edit(props.path, event.currentTarget.value === "" ? undefined : event.currentTarget.value)}
    />
  );
}

/** One of a few values, as radio buttons or, where they are many, as a list. */
export function ChoiceControl({ options, ...props }: ControlProps & { options: { name: string; value: Json }[] }) {
  const { form, value, attributes } = useControl(props);
  const { id, readOnly: _, ...described } = attributes;
  const at = options.findIndex((option) => value !== undefined && equal(option.value, value));
  const pick = (index: number) => {
    const option = options[index];
    if (option !== undefined) form.edit(props.path, option.value);
    form.touch(props.path);
  };
  if (options.length > 5) {
    return (
      <select
        {...described}
        id={id}
        class="llm4s-input llm4s-select"
        disabled={form.disabled}
        onChange={(event) => pick(Number(event.currentTarget.value))}
      >
        {at < 0 && (
          <option value="-1" selected>
            {hint(props.schema, value, "choose …")}
          </option>
        )}
        {options.map((option, index) => (
          <option key={option.name} value={index} selected={index === at}>
            {option.name}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="llm4s-choices" role="radiogroup" {...described}>
      {options.map((option, index) => (
        <label key={option.name} class="llm4s-choice">
          <input
            type="radio"
            id={index === Math.max(at, 0) ? id : undefined}
            name={id}
            checked={index === at}
            disabled={form.disabled}
            onChange={() => pick(index)}
          />
          <span>{option.name}</span>
        </label>
      ))}
      {at < 0 && <span class="llm4s-hint">{hint(props.schema, value)}</span>}
    </div>
  );
}

/** Any JSON value, as text: for what no other control can draw. */
export function JsonControl(props: ControlProps) {
  const { attributes } = useControl(props);
  const [text, onText] = useTyped(props.path, pretty, (given) => {
    if (given.trim() === "") return { value: undefined };
    const parsed = parseJson(given);
    return parsed.ok ? { value: parsed.value } : { message: parsed.problem };
  });
  return (
    <textarea
      {...attributes}
      class="llm4s-input llm4s-json"
      spellcheck={false}
      rows={Math.min(14, Math.max(2, text.split("\n").length))}
      value={text}
      placeholder="JSON"
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** A value there is nothing to choose about. */
export function FixedControl({ plan, path }: ControlProps & { plan: Extract<Plan, { kind: "const" | "null" }> }) {
  const form = useForm();
  const value = form.valueAt(path);
  const fixed = plan.kind === "null" ? null : plan.value;
  const name = fixed === null ? "nothing (null)" : brief(fixed);
  if (value !== undefined) {
    return (
      <output class="llm4s-fixed" id={fieldId(form, path)}>
        {name}
      </output>
    );
  }
  return (
    <button
      type="button"
      class="llm4s-button llm4s-small"
      id={fieldId(form, path)}
      disabled={form.disabled}
      onClick={() => form.edit(path, fixed)}
    >
      {`Set to ${name}`}
    </button>
  );
}

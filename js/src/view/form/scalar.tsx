import { brief, isExact, type Maybe, parseJson, pretty } from "../json";
import { Plain } from "../text";
import { type ControlProps, hint, useControl } from "./common";
import { takesExact } from "./exact";
import type { Plan } from "./schema";
import { fieldId, useForm } from "./scope";
import { type Reading, useTyped } from "./typed";

export function NumberControl(props: ControlProps & { integer: boolean }) {
  const { form, value, attributes } = useControl(props);
  const exact = takesExact(form.root, props.path);
  const show = (given: Maybe) => (typeof given === "number" || isExact(given) ? String(given) : "");
  const [text, onText] = useTyped(props.path, show, readNumber(props.integer, exact));
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

const readNumber =
  (integer: boolean, exact: boolean) =>
  (text: string): Reading => {
    const bare = text.trim();
    if (bare === "") return { value: undefined };
    if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(bare) || !Number.isFinite(Number(bare)))
      return { message: `“${brief(bare)}” is not a number.` };
    if (integer && !Number.isInteger(Number(bare))) return { message: `“${brief(bare)}” is not a whole number.` };
    const digits = bare.replace("+", "");
    return { value: exact && isExact(digits) ? digits : Number(bare) };
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
        <Plain text={name} />
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

import { useRef } from "preact/hooks";
import type { Json } from "../../wire/index";
import { directionOf } from "../direction";
import { parseJson } from "../json";
import { type ControlProps, hint, useControl } from "./common";
import { FORMAT_EXAMPLES, NEVER_EMPTY, ONE_LINE } from "./names";
import { isDots } from "./secret";

/** Text. Enter makes a new line where a text may have several and does nothing elsewhere: it never submits (F42). */
export function TextControl(props: ControlProps & { format: string | null }) {
  const { form, value, attributes } = useControl(props);
  const { schema, path } = props;
  const format = props.format ?? "";
  const text = typeof value === "string" ? value : "";
  // One line cannot show a line break, so a text that has one keeps its lines, whatever its format.
  const several = useRef(false);
  several.current ||= /[\n\r]/.test(text) || !(ONE_LINE.has(format) || typeof schema.pattern === "string");
  // A text area takes away the carriage returns of what it shows.
  const returns = /\r\n/.test(text) && !/[^\r]\n/.test(text);
  const onText = (next: string) => {
    const kept = returns ? next.replace(/\r?\n/g, "\r\n") : next;
    form.edit(path, next === "" && NEVER_EMPTY.has(format) ? undefined : kept);
  };
  const given = { ...attributes, dir: directionOf(text), value: text, placeholder: hint(schema, value, FORMAT_EXAMPLES[format] ?? "") };
  if (several.current) {
    return (
      <textarea
        {...given}
        class="llm4s-input llm4s-textarea"
        rows={Math.min(10, Math.max(1, text.split("\n").length, Math.ceil(text.length / 60)))}
        onInput={(event) => onText(event.currentTarget.value)}
      />
    );
  }
  return (
    <input
      {...given}
      class="llm4s-input"
      type="text"
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

/**
 * A secret. The dots that stand for the stored one are no text to type behind: the field is empty until something is typed, and empty again
 * it stands for the stored one again (rule 3.8.4). A secret that is no text is written as JSON, and shown no more than another.
 */
export function SecretControl(props: ControlProps & { text: boolean }) {
  const { form, value, attributes } = useControl(props);
  const hidden = typeof value === "string" && isDots(value);
  const dots = useRef<string | null>(null);
  const typed = useRef<{ text: string; value: Json } | null>(null);
  if (hidden) dots.current = value;
  else if (value !== typed.current?.value) dots.current = null;
  const shown = value === typed.current?.value ? typed.current?.text : typeof value === "string" ? value : JSON.stringify(value);
  const onText = (next: string) => {
    const parsed = props.text ? null : parseJson(next);
    typed.current = { text: next, value: parsed?.ok ? parsed.value : next };
    form.edit(props.path, next === "" && dots.current !== null ? dots.current : typed.current.value);
  };
  return (
    <input
      {...attributes}
      class="llm4s-input"
      type="password"
      autocomplete="off"
      value={hidden ? "" : (shown ?? "")}
      placeholder={hidden ? "•••••••• unchanged" : hint(props.schema, value)}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

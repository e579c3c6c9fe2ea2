import { useState } from "preact/hooks";
import { equal, type Maybe, type Path, pathKey } from "../json";
import { useForm } from "./scope";

export type Reading = { value: Maybe } | { message: string };

/**
 * The text of a field whose value is not text: what was typed stays as typed (`1.50`, JSON with its own spacing) as long as it means the
 * value; a text that means nothing is held beside the value.
 */
export function useTyped(path: Path, show: (value: Maybe) => string, read: (text: string) => Reading): [string, (text: string) => void] {
  const form = useForm();
  const [typed, setTyped] = useState<string | null>(null);
  const value = form.valueAt(path);
  const held = form.unread[pathKey(path)];
  const meant = typed === null ? null : read(typed);
  const text = held?.text ?? (typed !== null && meant !== null && "value" in meant && equal(meant.value, value) ? typed : show(value));
  const onText = (next: string) => {
    setTyped(next);
    const reading = read(next);
    if ("value" in reading) form.edit(path, reading.value);
    else form.hold(path, { text: next, message: reading.message });
  };
  return [text, onText];
}

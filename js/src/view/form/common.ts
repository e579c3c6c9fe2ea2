import { brief, type Maybe, type Path } from "../json";
import type { Schema } from "./schema";
import { fieldId, useForm } from "./scope";

export interface ControlProps {
  path: Path;
  schema: Schema;
  /** Ids of the texts that describe the control. */
  describedBy: string | undefined;
  labelledBy: string;
}

/** The value of a control's place, and the attributes that every control has. */
export function useControl({ path, describedBy, labelledBy }: ControlProps) {
  const form = useForm();
  return {
    form,
    value: form.valueAt(path),
    attributes: {
      id: fieldId(form, path),
      "aria-describedby": describedBy,
      "aria-labelledby": labelledBy,
      "aria-invalid": form.faultsAt(path, true).length > 0 ? ("true" as const) : undefined,
      readOnly: form.disabled,
      onBlur: () => form.touch(path),
    },
  };
}

const WORDS = new Map<Maybe, string>([
  [null, "nothing"],
  ["", "empty text"],
  [true, "yes"],
  [false, "no"],
]);

/** A default in the words of its control. */
export const defaultName = (value: Maybe): string => WORDS.get(value) ?? brief(value);

/** What an empty control shows in its place: the default, or an example. */
export function hint(schema: Schema, value: Maybe, example = ""): string {
  if (value !== undefined) return "";
  if ("default" in schema) return `default: ${defaultName(schema.default)}`;
  const given = Array.isArray(schema.examples) ? schema.examples[0] : undefined;
  return given === undefined ? example : `such as ${brief(given)}`;
}

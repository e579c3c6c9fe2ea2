import type { Json } from "../../wire/index";
import { equal } from "../json";
import { Plain } from "../text";
import { oneLine } from "../unseen";
import { type ControlProps, hint, useControl } from "./common";

/** So many choices are radio buttons; more are a list. */
const BUTTONS = 5;

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
  if (options.length > BUTTONS) {
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
          <option key={index} value={index} selected={index === at}>
            {oneLine(option.name)}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="llm4s-choices" role="radiogroup" {...described}>
      {options.map((option, index) => (
        <label key={index} class="llm4s-choice">
          <input
            type="radio"
            id={index === Math.max(at, 0) ? id : undefined}
            name={id}
            checked={index === at}
            disabled={form.disabled}
            onChange={() => pick(index)}
          />
          <Plain text={option.name} />
        </label>
      ))}
    </div>
  );
}

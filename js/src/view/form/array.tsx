import { useEffect, useRef } from "preact/hooks";
import type { Maybe, Path } from "../json";
import { Field } from "./field";
import type { Plan } from "./schema";
import { fieldId, useForm } from "./scope";

interface ArrayControlProps {
  path: Path;
  plan: Extract<Plan, { kind: "array" }>;
  label: string;
}

/** A list: the places a tuple has, then as many items as a person wants. */
export function ArrayControl({ path, plan, label }: ArrayControlProps) {
  const form = useForm();
  const value = form.valueAt(path);
  const items: readonly Maybe[] = Array.isArray(value) ? value : [];
  const count = Math.max(items.length, plan.prefix.length);
  const keys = useKeys(count);
  const box = useRef<HTMLDivElement>(null);
  const added = useRef(false);
  useEffect(() => {
    if (!added.current) return;
    added.current = false;
    const fields = box.current?.querySelectorAll<HTMLElement>(":scope > .llm4s-field");
    fields?.[fields.length - 1]?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
  });
  const of = plan.items;
  const remove = (index: number) => {
    keys.splice(index, 1);
    form.removeItem(path, index);
  };
  const add = () => {
    if (of === null) return;
    added.current = true;
    form.start([...path, items.length], of);
  };
  return (
    <div class="llm4s-items" ref={box}>
      {Array.isArray(value) && value.length === 0 && <p class="llm4s-hint">No items.</p>}
      {Array.from({ length: count }, (_, index) => {
        const schema = plan.prefix[index] ?? of ?? {};
        const beside =
          index < plan.prefix.length ? undefined : (
            <button
              type="button"
              class="llm4s-button llm4s-quiet llm4s-small"
              aria-label={`Remove item ${index + 1} of ${label}`}
              disabled={form.disabled}
              onClick={() => remove(index)}
            >
              remove
            </button>
          );
        return <Field key={keys[index]} path={[...path, index]} schema={schema} label={`${label} ${index + 1}`} required beside={beside} />;
      })}
      {of !== null && (
        <div class="llm4s-add">
          <button type="button" class="llm4s-button llm4s-small" id={fieldId(form, path)} disabled={form.disabled} onClick={add}>
            Add an item
          </button>
          {value === undefined && (
            <button type="button" class="llm4s-button llm4s-quiet llm4s-small" disabled={form.disabled} onClick={() => form.edit(path, [])}>
              Use an empty list
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** A key for each item that goes with it when an earlier one is removed. */
function useKeys(count: number): number[] {
  const keys = useRef<number[]>([]);
  const next = useRef(0);
  while (keys.current.length < count) {
    keys.current.push(next.current);
    next.current += 1;
  }
  keys.current.length = count;
  return keys.current;
}

import { useRef } from "preact/hooks";
import { equal, type Maybe, type Path } from "../json";
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
  const of = plan.items;
  const remove = (index: number) => {
    keys.splice(index, 1);
    form.removeItem(path, index);
    form.focus(index < items.length - 1 ? [...path, index] : path);
  };
  const add = () => {
    if (of === null) return;
    form.start([...path, items.length], of);
    form.focus([...path, items.length]);
  };
  return (
    <div class="llm4s-items">
      {Array.isArray(value) && value.length === 0 && <p class="llm4s-hint">No items.</p>}
      {Array.from({ length: count }, (_, index) => {
        const needed = index < plan.least;
        // Of a tuple's places only the last one given may go: those behind it would move up.
        const removable = !needed && (index >= plan.prefix.length || index === items.length - 1);
        return (
          <Field
            key={keys[index]}
            path={[...path, index]}
            schema={plan.prefix[index] ?? of ?? {}}
            label={`${label} ${index + 1}`}
            required={needed || index >= plan.prefix.length}
            item={index >= plan.prefix.length}
            out={removable ? <RemoveItem label={label} index={index} onRemove={remove} /> : null}
          />
        );
      })}
      {plan.unique && items.some((item, index) => items.slice(0, index).some((earlier) => equal(earlier, item))) && (
        <p class="llm4s-hint">A value is there twice.</p>
      )}
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

function RemoveItem({ label, index, onRemove }: { label: string; index: number; onRemove: (index: number) => void }) {
  const form = useForm();
  return (
    <button
      type="button"
      class="llm4s-button llm4s-quiet llm4s-small llm4s-leave"
      aria-label={`Remove item ${index + 1} of ${label}`}
      disabled={form.disabled}
      onClick={() => onRemove(index)}
    >
      remove
    </button>
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

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Json } from "../../wire/index";
import { getAt, type Maybe, type Path, pathKey, setAt } from "../json";
import type { Fault } from "./check";
import { Field } from "./field";
import { blank } from "./fit";
import { formPath } from "./path";
import type { Schema } from "./schema";
import { type FormScope, faultsOf, fieldId, isMissing, MISSING, ScopeProvider, type Unreads, withoutBelow, withoutItem } from "./scope";

interface FormProps {
  schema: Schema;
  value: Maybe;
  unread: Unreads;
  /** What the kernel found wrong, by its own paths. */
  problems: readonly Fault[];
  /** Say everything that is wrong, not only what is wrong where a person has been. */
  thorough: boolean;
  disabled: boolean;
  label: string;
  /** Starts every id of this form; unique in the page. */
  prefix: string;
  onChange: (value: Maybe, unread: Unreads) => void;
}

/** A form made from a JSON Schema. It shows the value as it is, changes only what a person changes, and never coerces (W2.9). */
export function Form(props: FormProps) {
  const latest = useRef(props);
  latest.current = props;
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const faults = faultsOf(props.schema, props.value, props.unread).filter((fault) => props.thorough || touched.has(pathKey(fault.path)));
  const kernel = placed(props);
  const all = [...faults, ...kernel];
  const box = useRef<HTMLDivElement>(null);
  const wanted = useRef<Path | null>(null);
  const change = (value: Maybe, unread: Unreads) => {
    latest.current = { ...latest.current, value, unread };
    props.onChange(value, unread);
  };
  const touch = (path: Path) => setTouched((before) => (before.has(pathKey(path)) ? before : new Set(before).add(pathKey(path))));
  const scope: FormScope = {
    root: props.schema,
    value: props.value,
    unread: props.unread,
    prefix: props.prefix,
    disabled: props.disabled,
    faultsAt: (path, below = false) => {
      const here = all.filter((fault) => (below || fault.path.length === path.length) && isBelow(fault.path, path));
      const texts = here.map((fault) => [...fault.path.slice(path.length), fault.message].join(": "));
      return [...new Set(texts)];
    },
    valueAt: (path) => (isMissing(props.unread[pathKey(path)]) ? undefined : getAt(props.value, path)),
    edit: (path, value) => {
      const { value: before, unread } = latest.current;
      const holes = holesBelow(before, path, value);
      const next = { ...withoutBelow(unread, path), ...Object.fromEntries(holes.map((hole) => [pathKey(hole), MISSING])) };
      const filled = holes.reduce<Maybe>((whole, hole) => setAt(whole, hole, null), before);
      change(value === undefined && typeof path.at(-1) === "number" ? filled : setAt(filled, path, value), next);
    },
    start: (path, schema) => {
      const value = blank(props.schema, schema);
      const unread = withoutBelow(latest.current.unread, path);
      change(setAt(latest.current.value, path, value ?? null), value === undefined ? { ...unread, [pathKey(path)]: MISSING } : unread);
    },
    removeItem: (path, index) => {
      const items = getAt(latest.current.value, path);
      if (!Array.isArray(items)) return;
      const rest = items.filter((_, other) => other !== index);
      change(setAt(latest.current.value, path, rest), withoutItem(latest.current.unread, path, index));
    },
    hold: (path, unread) => {
      touch(path);
      change(latest.current.value, { ...withoutBelow(latest.current.unread, path), [pathKey(path)]: unread });
    },
    touch,
    focus: (path) => {
      wanted.current = path;
    },
  };
  // With the drawing itself and not after the frame: by then the person may be in another field, and what they type would land here.
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    controlAt(box.current, fieldId(scope, wanted.current))?.focus();
    wanted.current = null;
  });
  return (
    <ScopeProvider value={scope}>
      <div class="llm4s-form" ref={box}>
        <Field path={[]} schema={props.schema} label={props.label} required />
      </div>
    </ScopeProvider>
  );
}

/**
 * The kernel's problems at their places. Of a union it says what every member would have: a problem at a field that the member drawn here
 * does not have is left out where there is one that is drawn.
 */
function placed({ schema, value, problems }: FormProps): Fault[] {
  const all = problems.map(({ path, message }) => ({ path: formPath(schema, schema, value, path), message, steps: path.length }));
  const drawn = all.filter(({ path, steps }) => path.length === steps);
  return all.filter((one) => drawn.includes(one) || !drawn.some(({ path }) => isBelow(path, one.path)));
}

const isBelow = (path: Path, of: Path) => of.every((step, depth) => path[depth] === step);

/** The control of a field, or the first one of its group. */
function controlAt(form: HTMLElement | null, id: string): HTMLElement | null {
  const named = [...(form?.querySelectorAll<HTMLElement>("[id]") ?? [])].filter((element) => element.id.startsWith(id));
  const own = named.find((element) => element.id === id && element.matches(CONTROLS));
  const inside = [...(named[0]?.closest(".llm4s-field")?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])];
  return own ?? inside.find((element) => element.closest(".llm4s-field-head") === null) ?? null;
}

const CONTROLS = "input, textarea, select, button";

/** The places of lists that an edit at `path` would leave empty: JSON has no holes, so each is held as missing. */
function holesBelow(whole: Maybe, path: Path, value: Maybe): Path[] {
  const holes: Path[] = [];
  path.forEach((step, depth) => {
    if (typeof step !== "number") return;
    const list = path.slice(0, depth);
    const items = getAt(whole, list);
    const count = Array.isArray(items) ? (items as Json[]).length : 0;
    for (let index = count; index < step; index += 1) holes.push([...list, index]);
  });
  if (value === undefined && typeof path.at(-1) === "number") holes.push(path);
  return holes;
}

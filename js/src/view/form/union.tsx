import { useRef, useState } from "preact/hooks";
import type { Json } from "../../wire/index";
import type { Maybe, Path } from "../json";
import { Control } from "./control";
import { blank, branchOf, contradicts, shows } from "./fit";
import { useHeld } from "./held";
import { Misfit } from "./misfit";
import { branchName, kindName } from "./names";
import { branchPlan, type Plan, type Schema } from "./schema";
import { fieldId, useForm } from "./scope";

interface UnionControlProps {
  path: Path;
  schema: Schema;
  plan: Extract<Plan, { kind: "union" }>;
  describedBy: string | undefined;
  labelledBy: string;
  label: string;
  required: boolean;
}

const NOTHING = -2;

/** One of several kinds of value: which one, and its control. "Nothing" is an answer of its own, told apart from not answering (F05). */
export function UnionControl(props: UnionControlProps) {
  return props.plan.branches.length === 1 ? <Nullable {...props} /> : <Kinds {...props} />;
}

function Nullable({ plan, ...props }: UnionControlProps) {
  const form = useForm();
  const value = form.valueAt(props.path);
  const before = useRef<Maybe>(undefined);
  const branch = plan.branches[0] ?? {};
  if (value !== null && value !== undefined) before.current = value;
  const toggle = (nothing: boolean) => {
    form.edit(props.path, nothing ? null : before.current);
    form.touch(props.path);
  };
  return (
    <div class="llm4s-nullable">
      {value !== null && <Control {...props} schema={inherit(branch, props.schema)} />}
      <label class="llm4s-choice llm4s-null">
        <input
          type="checkbox"
          id={value === null ? fieldId(form, props.path) : fieldId(form, props.path, "-null")}
          aria-label={`${props.label}: nothing (null)`}
          checked={value === null}
          disabled={form.disabled}
          onChange={(event) => toggle(event.currentTarget.checked)}
        />
        <span>nothing (null)</span>
      </label>
    </div>
  );
}

/** A branch shows the default that stands beside the union. */
function inherit(branch: Schema, union: Schema): Schema {
  return "default" in union && union.default !== null ? { ...branch, default: union.default } : branch;
}

function Kinds({ plan, ...props }: UnionControlProps) {
  const form = useForm();
  const value = form.valueAt(props.path);
  const [picked, setPicked] = useState<number | null>(null);
  const before = useRef(new Map<number, Json>());
  const found = value === null && plan.nullable ? NOTHING : branchOf(form.root, plan.branches, value);
  // What is half written may fit no kind for a while, or another one: the kind it had stays, while somebody writes and in doubt.
  const last = useRef(-1);
  const raw = useRef(false);
  const { inside, hold } = useHeld(false);
  const sticks = (index: number) => canShow(form.root, plan.branches[index], value);
  const stays = sticks(last.current) ? inside.current || found === -1 : last.current === -1 && inside.current && raw.current;
  const at = picked !== null && sticks(picked) ? picked : stays ? last.current : found;
  last.current = at;
  raw.current = at === -1 && (value !== undefined || stays);
  const branch = plan.branches[at];
  if (value !== undefined && branch !== undefined) before.current.set(at, value);
  const names = plan.branches.map((one, index) => ({ name: branchName(form.root, one), index }));
  if (plan.nullable) names.push({ name: "nothing (null)", index: NOTHING });
  const pick = (index: number) => {
    setPicked(index);
    last.current = index;
    const next = plan.branches[index];
    const kept = before.current.get(index);
    if (next === undefined) form.edit(props.path, null);
    else if (kept !== undefined) form.edit(props.path, kept);
    else if (typeof props.path.at(-1) === "number") form.start(props.path, next);
    else form.edit(props.path, blank(form.root, next));
  };
  const id = fieldId(form, props.path, "-kind");
  return (
    <div class="llm4s-union" {...hold}>
      <div class="llm4s-choices" role="radiogroup" aria-label={`Kind of ${props.label}`} aria-describedby={props.describedBy}>
        {names.map(({ name, index }) => (
          <label key={index} class="llm4s-choice">
            <input
              type="radio"
              id={index === (at === -1 ? 0 : at) && branch === undefined && value === undefined ? fieldId(form, props.path) : undefined}
              name={id}
              checked={index === at}
              disabled={form.disabled}
              onChange={() => pick(index)}
            />
            <span>{name}</span>
          </label>
        ))}
      </div>
      {branch !== undefined && branchPlan(form.root, branch).kind !== "const" && <Control key={at} {...props} schema={branch} required />}
      {raw.current && (
        <>
          {found === -1 && value !== undefined && <Misfit kind={kindName(form.root, props.schema)} />}
          <Control {...props} schema={{}} />
        </>
      )}
    </div>
  );
}

/** A picked kind stays while it can show what is there, and nothing there says that it is of another kind. */
function canShow(root: Schema, branch: Schema | undefined, value: Maybe): boolean {
  if (branch === undefined) return false;
  const plan = branchPlan(root, branch);
  return value === undefined || (shows(plan, value) && !contradicts(root, plan, value));
}

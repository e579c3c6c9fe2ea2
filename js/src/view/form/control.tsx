import type { Json } from "../../wire/index";
import type { Path } from "../json";
import { ArrayControl } from "./array";
import { ChoiceControl } from "./choice";
import { shows } from "./fit";
import { ObjectControl } from "./object";
import { DecimalControl, FixedControl, JsonControl, NumberControl } from "./scalar";
import { branchPlan, fullSchema, type Schema } from "./schema";
import { useForm } from "./scope";
import { SecretControl, TextControl } from "./texts";
import { UnionControl } from "./union";

interface AnyControlProps {
  path: Path;
  schema: Schema;
  describedBy: string | undefined;
  labelledBy: string;
  label: string;
  required: boolean;
}

/** The control a schema asks for. A value that it cannot show as it is, is edited as JSON: never coerced, never hidden (W2.9). */
export function Control(props: AnyControlProps) {
  const form = useForm();
  const plan = branchPlan(form.root, props.schema);
  const schema = fullSchema(form.root, props.schema);
  const value = form.valueAt(props.path);
  const given = { path: props.path, schema, describedBy: props.describedBy, labelledBy: props.labelledBy };
  if (value !== undefined && !shows(plan, value)) return <JsonControl {...given} />;
  switch (plan.kind) {
    case "any":
      return <JsonControl {...given} />;
    case "null":
    case "const":
      return <FixedControl {...given} plan={plan} />;
    case "enum":
      return <ChoiceControl {...given} options={namedOptions(plan.options)} />;
    case "boolean":
      return <ChoiceControl {...given} options={YES_OR_NO} />;
    case "number":
      return <NumberControl {...given} integer={plan.integer} />;
    case "decimal":
      return <DecimalControl {...given} />;
    case "string":
      return <TextControl {...given} format={plan.format} />;
    case "secret":
      return <SecretControl {...given} text={plan.text} />;
    case "object":
      return <ObjectControl path={props.path} plan={plan} required={props.required} label={props.label} />;
    case "array":
      return <ArrayControl path={props.path} plan={plan} label={props.label} />;
    case "union":
      return <UnionControl {...props} plan={plan} />;
  }
}

const YES_OR_NO: { name: string; value: Json }[] = [
  { name: "yes", value: true },
  { name: "no", value: false },
];

/** Names of choices: texts as they are, unless another choice reads the same. */
function namedOptions(options: readonly Json[]) {
  const plain = options.map((option) => (typeof option === "string" ? option : JSON.stringify(option)));
  return options.map((value, index) => {
    const name = plain[index] ?? "";
    const doubled = plain.filter((other) => other === name).length > 1 || name.trim() === "";
    return { name: doubled ? JSON.stringify(value) : name, value };
  });
}

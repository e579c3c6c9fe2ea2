import type { PendingCard } from "../../wire/index";
import { Form } from "../form/form";
import type { Schema } from "../form/schema";
import { hideSecrets } from "../form/secret";
import { equal, type Maybe, parseJson } from "../json";
import { usePanel } from "./context";
import { decide, rawText } from "./decide";
import type { Choice } from "./draft";
import type { Hand } from "./hand";
import { EDITABLE, TooLong } from "./too_long";

interface AnswerEditorProps {
  card: PendingCard;
  hand: Hand;
  closed: boolean;
  choice: Choice;
  /** Where the draft keeps the value. */
  field: "arguments" | "value";
  schema: Schema;
  value: Maybe;
  label: string;
}

/** A value to be answered, in a form made from its schema or as JSON; one can turn from either to the other without losing anything. */
export function AnswerEditor({ card, hand, closed, choice, field, schema, value, label }: AnswerEditorProps) {
  const { desk, prefix, tried } = usePanel();
  const { draft, busy } = hand;
  const json = draft.mode === "json";
  const problems = (desk.problems.value[card.id] ?? []).map((problem) => {
    const path = problem.path as (string | number)[];
    return { path: field === "arguments" && path[0] === "arguments" ? path.slice(1) : path, message: problem.message };
  });
  const id = `${prefix}${encodeURIComponent(card.id)}-${choice}`;
  const toForm = () => {
    if (draft.raw === undefined) return hand.change({ decision: choice, mode: "form" });
    const parsed = parseJson(draft.raw);
    if (parsed.ok) hand.change({ decision: choice, mode: "form", raw: undefined, unread: undefined, [field]: parsed.value });
  };
  // What a person has typed into a field of dots is not to be read beside it (rule 3.8.4).
  const secret = !json && !equal(hideSecrets(schema, schema, value), value);
  const unreadable = json && draft.raw !== undefined && !parseJson(draft.raw).ok;
  return (
    <div class="llm4s-answer">
      <fieldset class="llm4s-modes">
        <legend class="llm4s-sr">{`How to write ${label}`}</legend>
        <button type="button" class="llm4s-tab" aria-pressed={!json} disabled={unreadable} onClick={toForm}>
          Form
        </button>
        <button
          type="button"
          class="llm4s-tab"
          aria-pressed={json}
          disabled={secret}
          title={secret ? "A secret that was typed would be shown" : undefined}
          onClick={() => hand.change({ decision: choice, mode: "json" })}
        >
          JSON
        </button>
      </fieldset>
      {json && draft.raw === undefined && rawText(draft, value).length > EDITABLE ? (
        <TooLong />
      ) : json ? (
        <RawJson
          card={card}
          hand={hand}
          closed={closed}
          choice={choice}
          text={rawText(draft, value)}
          id={id}
          label={label}
          problems={problems.map((one) => one.message)}
        />
      ) : (
        <Form
          schema={schema}
          value={value}
          unread={draft.unread ?? {}}
          problems={problems}
          thorough={tried.value.has(card.id)}
          disabled={closed || busy}
          label={label}
          prefix={id}
          onChange={(next, unread) => {
            if (problems.length > 0) desk.clearProblems([card.id]);
            hand.change({ decision: choice, [field]: next, unread });
          }}
        />
      )}
    </div>
  );
}

interface RawJsonProps {
  card: PendingCard;
  hand: Hand;
  closed: boolean;
  choice: Choice;
  text: string;
  id: string;
  label: string;
  problems: readonly string[];
}

function RawJson({ card, hand, closed, choice, text, id, label, problems }: RawJsonProps) {
  const { tried } = usePanel();
  const parsed = parseJson(text);
  const outcome = decide(card, hand.draft, choice);
  const own = !parsed.ok ? [parsed.problem] : !outcome.ok && tried.value.has(card.id) ? outcome.faults.map(faultText) : [];
  const faults = [...own, ...problems];
  return (
    <>
      <textarea
        id={id}
        class="llm4s-input llm4s-json"
        aria-label={`${label}, as JSON`}
        data-testid="raw-json"
        spellcheck={false}
        rows={Math.min(16, Math.max(3, text.split("\n").length))}
        readOnly={closed || hand.busy}
        aria-invalid={faults.length > 0 ? "true" : undefined}
        aria-describedby={faults.length > 0 ? `${id}-faults` : undefined}
        value={text}
        onInput={(event) => hand.change({ decision: choice, mode: "json", raw: event.currentTarget.value })}
      />
      {faults.length > 0 && (
        <p class="llm4s-fault" id={`${id}-faults`} data-testid="problem">
          {faults.join(" ")}
        </p>
      )}
    </>
  );
}

const faultText = (fault: { path: readonly (string | number)[]; message: string }) =>
  fault.path.length === 0 ? fault.message : `${fault.path.join(".")}: ${fault.message}`;

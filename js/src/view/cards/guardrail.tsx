import { useRef } from "preact/hooks";
import { TextDiff } from "../diff_view";
import { directionOf } from "../direction";
import { Block, Plain } from "../text";
import { Act } from "./act";
import type { BodyProps } from "./body";
import { usePanel } from "./context";
import { decide, editedText } from "./decide";
import { toEditor } from "./keys";
import { SendRow } from "./send_row";
import { EDITABLE, TooLong } from "./too_long";

/** A text that a guardrail refuses: let it through, replace it, or block the turn (W2.4). */
export function GuardrailBody({ card, hand, closed, readOnly }: BodyProps) {
  const { prefix, tried } = usePanel();
  const body = useRef<HTMLDivElement>(null);
  const refusal = card.guardrail;
  if (refusal === null) return null;
  const { draft, busy } = hand;
  const editing = !readOnly && draft.decision === "edit";
  const text = editedText(card, draft);
  const chosen = (choice: "allow" | "block") => (draft.chosen === true && draft.decision === choice) || undefined;
  const id = `${prefix}text-${encodeURIComponent(card.id)}`;
  const own = decide(card, draft, "edit");
  const faults = tried.value.has(card.id) && !own.ok ? own.faults.map((fault) => fault.message) : [];
  return (
    <div class="llm4s-body" ref={body}>
      <p class="llm4s-reason">
        {`Guardrail `}
        <strong>
          <Plain text={refusal.guardrail} />
        </strong>
        {` refuses ${refusal.phase === "input" ? "what was asked (input)" : "the answer (output)"}: `}
        <Plain text={refusal.reason} />
      </p>
      <Block text={refusal.text} label="Refused text" kind="llm4s-refused" />
      {!readOnly && (
        <div class="llm4s-actions">
          <Act
            name="allow"
            of={card.id}
            testid="allow"
            look="primary"
            pressed={chosen("allow")}
            busy={busy}
            disabled={closed}
            onAct={() => hand.press("allow")}
          >
            Allow
          </Act>
          <Act
            name="edit"
            of={card.id}
            testid="edit"
            expanded={editing}
            busy={busy}
            disabled={closed}
            onAct={() => {
              hand.change({ decision: editing ? null : "edit" });
              if (!editing) toEditor(body.current, hand);
            }}
          >
            Edit…
          </Act>
          <Act
            name="block"
            of={card.id}
            testid="block"
            look="danger"
            pressed={chosen("block")}
            busy={busy}
            disabled={closed}
            onAct={() => hand.press("block")}
          >
            Block
          </Act>
        </div>
      )}
      {editing && text.length > EDITABLE && draft.value === undefined && <TooLong />}
      {editing && (text.length <= EDITABLE || draft.value !== undefined) && (
        <div class="llm4s-editor">
          <label class="llm4s-field-name" for={id}>
            Text to use in its place
          </label>
          <textarea
            id={id}
            class="llm4s-input llm4s-textarea"
            data-testid="edit-text"
            dir={directionOf(text)}
            rows={Math.min(12, Math.max(3, text.split("\n").length + 1))}
            readOnly={closed || busy}
            aria-invalid={faults.length > 0 ? "true" : undefined}
            aria-describedby={faults.length > 0 ? `${id}-faults` : undefined}
            value={text}
            onInput={(event) => hand.change({ decision: "edit", value: event.currentTarget.value })}
          />
          {faults.length > 0 && (
            <p class="llm4s-fault" id={`${id}-faults`} data-testid="problem">
              {faults.join(" ")}
            </p>
          )}
          <div class="llm4s-change">
            <h6 class="llm4s-small-head">What the edit changes</h6>
            <TextDiff before={refusal.text} after={text} />
          </div>
          <SendRow card={card} hand={hand} closed={closed} readOnly={readOnly} choice="edit" label="Use this text" look="primary" />
        </div>
      )}
    </div>
  );
}

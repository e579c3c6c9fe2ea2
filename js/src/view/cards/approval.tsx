import { useRef } from "preact/hooks";
import type { Json } from "../../wire/index";
import { ValueDiff } from "../diff_view";
import { directionOf } from "../direction";
import { hideSecrets } from "../form/secret";
import { parseJson } from "../json";
import { Scroll } from "../scroll";
import { Plain } from "../text";
import { Act } from "./act";
import { AnswerEditor } from "./answer_editor";
import { Arguments } from "./arguments";
import type { BodyProps } from "./body";
import { usePanel } from "./context";
import { decide, editedArguments, editSchema, reasonOf } from "./decide";
import { toEditor } from "./keys";
import { callName } from "./name";
import { SendRow } from "./send_row";

/** A call that wants leave: its arguments to read; approve, reject with a reason, or edit (W2.2). */
export function ApprovalBody({ card, hand, closed, readOnly }: BodyProps) {
  const { draft, busy } = hand;
  const open = !readOnly && (draft.decision === "reject" || draft.decision === "edit") ? draft.decision : null;
  const body = useRef<HTMLDivElement>(null);
  const toggle = (choice: "reject" | "edit") => {
    hand.change({ decision: open === choice ? null : choice });
    if (open !== choice) toEditor(body.current, hand);
  };
  const approved = draft.decision === "approve" && draft.chosen === true;
  return (
    <div class="llm4s-body" ref={body}>
      {card.reason !== null && card.reason !== "" && (
        <Scroll class="llm4s-reason" label="Reason">
          <Plain text={card.reason} />
        </Scroll>
      )}
      <Arguments value={card.arguments as Json} />
      {!readOnly && (
        <div class="llm4s-actions">
          <Act
            name="approve"
            of={card.id}
            testid="approve"
            look="primary"
            pressed={approved || undefined}
            busy={busy}
            disabled={closed}
            onAct={() => hand.press("approve")}
          >
            {card.destructive ? (
              <>
                {"Approve "}
                <bdi>{callName(card)}</bdi>
              </>
            ) : (
              "Approve"
            )}
          </Act>
          <Act
            name="reject"
            of={card.id}
            testid="reject"
            look="danger"
            expanded={open === "reject"}
            busy={busy}
            disabled={closed}
            onAct={() => toggle("reject")}
          >
            Reject…
          </Act>
          <Act name="edit" of={card.id} testid="edit" expanded={open === "edit"} busy={busy} disabled={closed} onAct={() => toggle("edit")}>
            Edit…
          </Act>
        </div>
      )}
      {open === "reject" && <Reject card={card} hand={hand} closed={closed} readOnly={readOnly} />}
      {open === "edit" && <Edit card={card} hand={hand} closed={closed} readOnly={readOnly} />}
    </div>
  );
}

function Reject({ card, hand, closed, readOnly }: BodyProps) {
  const { desk, prefix, tried } = usePanel();
  const reason = reasonOf(card, hand.draft);
  const id = `${prefix}reason-${encodeURIComponent(card.id)}`;
  const own = decide(card, hand.draft, "reject");
  const faults = [
    ...(tried.value.has(card.id) && !own.ok ? own.faults.map((fault) => fault.message) : []),
    ...(desk.problems.value[card.id] ?? []).filter((problem) => problem.path[0] === "reason").map((problem) => problem.message),
  ];
  return (
    <div class="llm4s-editor">
      <label class="llm4s-field-name" for={id}>
        Reason, as the model will read it
      </label>
      <textarea
        id={id}
        class="llm4s-input llm4s-textarea"
        data-testid="reject-reason"
        dir={directionOf(reason)}
        rows={2}
        readOnly={closed || hand.busy}
        aria-invalid={faults.length > 0 ? "true" : undefined}
        aria-describedby={faults.length > 0 ? `${id}-faults` : undefined}
        value={reason}
        onInput={(event) => hand.change({ reason: event.currentTarget.value })}
      />
      {faults.length > 0 && (
        <p class="llm4s-fault" id={`${id}-faults`} data-testid="problem">
          {faults.join(" ")}
        </p>
      )}
      <SendRow card={card} hand={hand} closed={closed} readOnly={readOnly} choice="reject" label="Reject" look="danger" />
    </div>
  );
}

function Edit({ card, hand, closed, readOnly }: BodyProps) {
  const schema = editSchema(card);
  const value = editedArguments(card, hand.draft);
  const { mode, raw } = hand.draft;
  const parsed = mode === "json" && raw !== undefined ? parseJson(raw) : null;
  const written = parsed === null ? value : parsed.ok ? parsed.value : undefined;
  const after = hideSecrets(schema, schema, written);
  return (
    <div class="llm4s-editor">
      <AnswerEditor
        card={card}
        hand={hand}
        closed={closed}
        choice="edit"
        field="arguments"
        schema={schema}
        value={value}
        label="arguments"
      />
      <div class="llm4s-change">
        <h6 class="llm4s-small-head">What the edit changes</h6>
        {parsed !== null && !parsed.ok ? (
          <p class="llm4s-hint">What is written is not JSON yet.</p>
        ) : (
          <ValueDiff before={card.arguments as Json} after={after} />
        )}
      </div>
      <SendRow
        card={card}
        hand={hand}
        closed={closed}
        readOnly={readOnly}
        choice="edit"
        label={card.destructive ? `Run ${callName(card, after)}, with these arguments` : "Run with these arguments"}
        look="primary"
      />
    </div>
  );
}

import type { Decision, Json, PendingCard } from "../../wire/index";
import { withNumbers } from "../form/exact";
import type { Schema } from "../form/schema";
import { hideSecrets } from "../form/secret";
import { lostNumber, type Maybe } from "../json";
import { python } from "../python";
import { answerSchema, answerValue, decide, editedArguments, editedText, editSchema, reasonOf } from "./decide";
import type { Choice, Draft } from "./draft";

/** A text to copy, or why there is none. */
export type Copied = { text: string } | { problem: string };

/** The line of Python that answers a card as it is decided so far; where nothing is decided, the one its first button stands for. */
export function answerLine(card: PendingCard, draft: Draft): Copied {
  const id = python(card.id);
  switch (draft.decision ?? first(card)) {
    case "approve":
      return { text: `Answer.approve(${id})` };
    case "proceed":
      return { text: `Answer.proceed(${id})` };
    case "reject":
      return { text: `Answer.reject(${id}, ${python(reasonOf(card, draft))})` };
    case "edit":
      if (card.guardrail !== null) return reply(id, { verdict: "edit", text: editedText(card, draft) });
      return line(`Answer.edit(${id}, `, written(editSchema(card), value(card, draft, "edit")));
    case "allow":
    case "block":
      return reply(id, { verdict: draft.decision ?? "allow" });
    default:
      return reply(id, written(answerSchema(card), value(card, draft, "reply")));
  }
}

/** A call's arguments as JSON, as the card shows them. */
export function argumentsText(card: PendingCard): Copied {
  const lost = lostNumber(card.arguments as Json);
  if (lost !== null) return { problem: lost };
  // JSON has no word for a large number that its writer cannot hold, so it is marked as one and the mark taken off.
  const mark = `${Math.random()}:`;
  const marked = JSON.stringify(
    withNumbers(editSchema(card), card.arguments as Json),
    (_, item) => (typeof item === "bigint" ? mark + item : item),
    2,
  );
  return { text: marked.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") };
}

/** A value as it may be written down: secrets are dots, and every number is one. */
const written = (schema: Schema, given: Maybe): Maybe => withNumbers(schema, hideSecrets(schema, schema, given));

function first(card: PendingCard): Choice {
  if (card.kind === "APPROVAL") return "approve";
  if (card.kind === "BREAKPOINT") return "proceed";
  return card.guardrail === null ? "reply" : "allow";
}

const reply = (id: string, value: Maybe) => line(`Answer.reply(${id}, `, value);

function line(start: string, value: Maybe): Copied {
  const lost = lostNumber(value);
  return lost === null ? { text: `${start}${python(value)})` } : { problem: lost };
}

/** The value that would be sent or, while it does not fit or cannot be read, as far as it has come. */
function value(card: PendingCard, draft: Draft, choice: "edit" | "reply"): Maybe {
  const outcome = decide(card, draft, choice);
  const decision: Decision | null = outcome.ok ? outcome.decision : outcome.optional;
  if (decision?.decision === "edit") return decision.arguments as Json;
  if (decision?.decision === "reply") return decision.value as Json;
  if (draft.mode === "json" && draft.raw !== undefined) return undefined;
  return choice === "edit" ? editedArguments(card, draft) : answerValue(card, draft);
}

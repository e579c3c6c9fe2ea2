import type { Decision, Json, JsonObject, PendingCard } from "../../wire/index";
import type { Fault } from "../form/check";
import { blank } from "../form/fit";
import { asSchema, type Schema } from "../form/schema";
import { faultsOf, type Unreads } from "../form/scope";
import { isObject, type Maybe, parseJson, pretty } from "../json";
import type { Choice, Draft } from "./draft";

/** A decision ready to be sent, or what keeps it from being sent. `optional` faults are the tool's to judge (W2.8). */
export type Outcome = { ok: true; decision: Decision } | { ok: false; faults: Fault[]; optional: Decision | null };

const REASON_NEEDED: Fault = { path: ["reason"], message: "Say why: the model reads it." };

const TEXT_NEEDED: Fault = { path: ["text"], message: "Write the text to use in its place. To end the turn, press Block." };

/** What a card's draft amounts to. */
export function decide(card: PendingCard, draft: Draft, choice: Choice | null = draft.decision): Outcome {
  const id = card.id;
  switch (choice) {
    case "approve":
      return ready({ decision: "approve", id });
    case "proceed":
      return ready({ decision: "proceed", id });
    case "reject": {
      const reason = reasonOf(card, draft);
      return reason.trim() === "" ? { ok: false, faults: [REASON_NEEDED], optional: null } : ready({ decision: "reject", id, reason });
    }
    case "edit":
      return card.guardrail === null ? decideEdit(card, draft) : decideVerdict(card, draft);
    case "reply":
      return decideReply(card, draft);
    case "allow":
    case "block":
      return ready({ decision: "reply", id, value: { verdict: choice } });
    default:
      return { ok: false, faults: [{ path: [], message: "Nothing is decided yet." }], optional: null };
  }
}

const ready = (decision: Decision): Outcome => ({ ok: true, decision });

export const reasonOf = (card: PendingCard, draft: Draft): string => draft.reason ?? card.default_reject_reason ?? "";

/** The schema of an edit's form: an object, also where the tool says nothing about its arguments. */
export const editSchema = (card: PendingCard): Schema => asSchema((card.arguments_schema ?? { type: "object" }) as Json);

export const editedArguments = (card: PendingCard, draft: Draft): Maybe =>
  "arguments" in draft ? draft.arguments : ((card.arguments as Json | null) ?? {});

export const answerSchema = (card: PendingCard): Schema => asSchema((card.answer_schema ?? {}) as Json);

/** The answer as it stands: what was typed, or the empty beginning of one. */
export const answerValue = (card: PendingCard, draft: Draft): Maybe =>
  "value" in draft ? draft.value : blank(answerSchema(card), answerSchema(card));

export const editedText = (card: PendingCard, draft: Draft): string =>
  typeof draft.value === "string" ? draft.value : (card.guardrail?.text ?? "");

/** The JSON a person sees when they turn from the form to it. */
export const rawText = (draft: Draft, value: Maybe): string => draft.raw ?? pretty(value);

function decideEdit(card: PendingCard, draft: Draft): Outcome {
  const schema = editSchema(card);
  const given = read(draft, editedArguments(card, draft));
  if ("fault" in given) return { ok: false, faults: [given.fault], optional: null };
  const faults = faultsOf(schema, given.value, given.unread);
  if (!isObject(given.value)) return { ok: false, faults: [{ path: [], message: "Arguments are a JSON object." }], optional: null };
  return faults.length > 0
    ? { ok: false, faults, optional: null }
    : ready({ decision: "edit", id: card.id, arguments: given.value as JsonObject });
}

function decideReply(card: PendingCard, draft: Draft): Outcome {
  const schema = answerSchema(card);
  const given = read(draft, answerValue(card, draft));
  if ("fault" in given) return { ok: false, faults: [given.fault], optional: null };
  const faults = faultsOf(schema, given.value, given.unread);
  if (faults.length === 0 && given.value !== undefined) return ready({ decision: "reply", id: card.id, value: given.value });
  const sendable = card.lenient && given.value !== undefined && Object.keys(given.unread).length === 0;
  return { ok: false, faults, optional: sendable ? { decision: "reply", id: card.id, value: given.value as Json } : null };
}

function decideVerdict(card: PendingCard, draft: Draft): Outcome {
  const text = editedText(card, draft);
  // The kernel would take a blank text and close the turn for it (6.2.6); nobody who clears a field means that.
  if (text.trim() === "") return { ok: false, faults: [TEXT_NEEDED], optional: null };
  return ready({ decision: "reply", id: card.id, value: { verdict: "edit", text } });
}

function read(draft: Draft, value: Maybe): { value: Maybe; unread: Unreads } | { fault: Fault } {
  if (draft.mode !== "json" || draft.raw === undefined) return { value, unread: draft.mode === "json" ? {} : (draft.unread ?? {}) };
  const parsed = parseJson(draft.raw);
  return parsed.ok ? { value: parsed.value, unread: {} } : { fault: { path: [], message: parsed.problem } };
}

/** What the button that carries a decision says, and what a chosen card says of itself. */
export function choiceText(choice: Choice): string {
  const words: Record<Choice, string> = {
    approve: "approve",
    reject: "reject",
    edit: "edit",
    reply: "answer",
    allow: "allow",
    block: "block",
    proceed: "proceed",
  };
  return words[choice];
}

/** The choices a card offers, in the order of their buttons. */
export function choicesOf(card: PendingCard): Choice[] {
  if (card.kind === "APPROVAL") return ["approve", "reject", "edit"];
  if (card.kind === "BREAKPOINT") return ["proceed"];
  return card.guardrail === null ? ["reply"] : ["allow", "edit", "block"];
}

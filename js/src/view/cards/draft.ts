import type { Json, JsonObject } from "../../wire/index";
import { readUnreads, type Unreads } from "../form/scope";
import { isObject, type Maybe } from "../json";

export type Choice = "approve" | "reject" | "edit" | "reply" | "allow" | "block" | "proceed";

const CHOICES: readonly string[] = ["approve", "reject", "edit", "reply", "allow", "block", "proceed"];

/** What a person has begun on one card. A value that is not given is undefined, which JSON leaves out. */
export interface Draft {
  readonly decision: Choice | null;
  readonly reason?: string | undefined;
  readonly arguments?: Maybe;
  readonly value?: Maybe;
  readonly raw?: string | undefined;
  readonly mode?: "form" | "json" | undefined;
  /** Decided, to be sent with the others. */
  readonly chosen?: boolean | undefined;
  readonly unread?: Unreads | undefined;
}

export const NO_DRAFT: Draft = { decision: null };

/** Read a stored draft; what another version wrote and this one does not know is left out. */
export function readDraft(stored: JsonObject | undefined): Draft {
  if (stored === undefined) return NO_DRAFT;
  const { decision, reason, raw, mode, chosen } = stored;
  return {
    decision: typeof decision === "string" && CHOICES.includes(decision) ? (decision as Choice) : null,
    ...(typeof reason === "string" ? { reason } : {}),
    ...("arguments" in stored ? { arguments: stored.arguments } : {}),
    ...("value" in stored ? { value: stored.value } : {}),
    ...(typeof raw === "string" ? { raw } : {}),
    ...(mode === "form" || mode === "json" ? { mode } : {}),
    ...(chosen === true ? { chosen } : {}),
    ...(isObject(stored.unread) ? { unread: readUnreads(stored.unread) } : {}),
  };
}

/** The JSON of a draft; null where nothing of it is worth keeping. */
export function writeDraft(draft: Draft): JsonObject | null {
  const entries = Object.entries(draft).filter(([, value]) => value !== undefined);
  const kept = entries.filter(([key, value]) => key !== "decision" && !(key === "unread" && Object.keys(value as object).length === 0));
  if (draft.decision === null && kept.length === 0) return null;
  return Object.fromEntries([["decision", draft.decision], ...kept]) as JsonObject;
}

/** True where a person has typed something that a decision made for all would throw away. */
export function hasTyped(draft: Draft): boolean {
  return "arguments" in draft || "value" in draft || draft.raw !== undefined;
}

export type { Json };

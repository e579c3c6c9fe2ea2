import type { Refusal } from "../wire/index";

/** A refusal that this page says by itself, in the kernel's shape: what happened, where, and what to do next. */
export function refusal(request_id: string, type: string, what: string, where: string, next_step: string): Refusal {
  return { kind: "refused", request_id, error: { type, what, where, next_step, at_ms: Date.now() }, problems: [] };
}

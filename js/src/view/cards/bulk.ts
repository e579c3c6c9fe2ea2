import type { Decision, PendingCard } from "../../wire/index";
import type { PanelScope } from "./context";
import { decide } from "./decide";
import { hasTyped, readDraft } from "./draft";

export type Bulk = "approve" | "reject" | "proceed";

const KIND: Readonly<Record<Bulk, PendingCard["kind"]>> = { approve: "APPROVAL", reject: "APPROVAL", proceed: "BREAKPOINT" };

/** The cards a decision for all would answer: of its kind, not on their way, and without an edit that it would throw away. */
export function bulkCards({ desk }: PanelScope, bulk: Bulk): PendingCard[] {
  const pending = desk.state.value?.pending ?? [];
  return pending.filter(
    (card) => card.kind === KIND[bulk] && !desk.sent.value.has(card.id) && !hasTyped(readDraft(desk.drafts.value[card.id])),
  );
}

/** The decisions of a confirmed bulk: only of cards that were shown when it was asked for and still wait (F39). */
export function bulkDecisions(scope: PanelScope, bulk: Bulk, ids: readonly string[]): Decision[] {
  const asked = new Set(ids);
  return bulkCards(scope, bulk)
    .filter((card) => asked.has(card.id))
    .flatMap((card) => {
      const outcome = decide(card, readDraft(scope.desk.drafts.value[card.id]), bulk);
      return outcome.ok ? [outcome.decision] : [];
    });
}

/** The cards that were decided to be sent together and are still waiting. */
export function chosenCards({ desk }: Pick<PanelScope, "desk">): PendingCard[] {
  const pending = desk.state.value?.pending ?? [];
  return pending.filter((card) => readDraft(desk.drafts.value[card.id]).chosen === true && !desk.sent.value.has(card.id));
}

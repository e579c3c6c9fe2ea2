import type { PendingCard } from "../../wire/index";

export interface Group {
  readonly kind: PendingCard["kind"];
  readonly heading: string;
  readonly cards: readonly PendingCard[];
}

const HEADINGS: readonly [PendingCard["kind"], string][] = [
  ["APPROVAL", "Approvals"],
  ["QUESTION", "Questions from tools"],
  ["MIDDLEWARE_QUESTION", "Questions from middleware"],
  ["BREAKPOINT", "Breakpoints"],
];

/** The cards under their four headings, in the order of `result.pending` (W2.1); a heading without a card is left out. */
export function groupsOf(pending: readonly PendingCard[]): Group[] {
  return HEADINGS.map(([kind, heading]) => ({ kind, heading, cards: pending.filter((card) => card.kind === kind) })).filter(
    (group) => group.cards.length > 0,
  );
}

/** The cards in the order they are shown. */
export const shown = (pending: readonly PendingCard[]): PendingCard[] => groupsOf(pending).flatMap((group) => group.cards);

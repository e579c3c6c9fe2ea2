import type { PendingCard, SessionState } from "../../src/wire/index";
import { readSession } from "./fixture";

/** A session in which this many things wait: six of ten approvals, the rest of the other kinds, each with an id of its own. */
export function manyPending(count: number): SessionState {
  const session = readSession();
  const [deploy, notify, question, region, review, held] = session.pending as [
    PendingCard,
    PendingCard,
    PendingCard,
    PendingCard,
    PendingCard,
    PendingCard,
  ];
  const kinds = [deploy, notify, deploy, notify, deploy, notify, question, region, review, held];
  const pending = Array.from({ length: count }, (_, index) => ({ ...(kinds[index % 10] as PendingCard), id: `9.${index}` }));
  return { ...session, pending };
}

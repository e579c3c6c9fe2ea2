import type { PendingCard } from "../../wire/index";
import type { Hand } from "./hand";

/** What a body draws with. */
export interface BodyProps {
  card: PendingCard;
  hand: Hand;
  /** No decision can be made: read only, or nobody is there. */
  closed: boolean;
  /** Only to look at: nothing to press and nothing to write in is drawn. */
  readOnly: boolean;
}

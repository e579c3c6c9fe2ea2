import type { Json } from "../../wire/index";
import { Block } from "../text";
import { Act } from "./act";
import { Arguments } from "./arguments";
import type { BodyProps } from "./body";

/** A task held at a breakpoint: what it is about to do, or what it did; it can only go on (W2.5). */
export function BreakpointBody({ card, hand, closed, readOnly }: BodyProps) {
  const { draft, busy } = hand;
  const chosen = (draft.chosen === true && draft.decision === "proceed") || undefined;
  return (
    <div class="llm4s-body">
      {card.arguments !== null && (
        <>
          <h6 class="llm4s-small-head">{card.phase === "BEFORE" ? "It would run with" : "It ran with"}</h6>
          <Arguments value={card.arguments as Json} />
        </>
      )}
      {card.result !== null && (
        <>
          <h6 class="llm4s-small-head">Recorded result</h6>
          <Block text={card.result} label="Recorded result" />
        </>
      )}
      {card.message !== null && (
        <>
          <h6 class="llm4s-small-head">Stored message</h6>
          <Block text={card.message} label="Stored message" />
        </>
      )}
      {!readOnly && (
        <div class="llm4s-actions">
          <Act
            name="proceed"
            of={card.id}
            testid="proceed"
            look="primary"
            pressed={chosen}
            busy={busy}
            disabled={closed}
            onAct={() => hand.press("proceed")}
          >
            Proceed
          </Act>
        </div>
      )}
    </div>
  );
}

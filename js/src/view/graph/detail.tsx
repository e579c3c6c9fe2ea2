import type { NodeView, PendingCard } from "../../wire/index";
import type { Desk } from "../desk";
import { Plain } from "../text";
import { STATUS_WORDS } from "./words";

interface DetailProps {
  desk: Desk;
  node: NodeView;
  folded: number;
  unfolded: boolean;
  prefix: string;
  onFold: () => void;
  onClose: () => void;
  /** Go to a card; absent where no panel is beside the graph. */
  onCard: ((id: string) => void) | undefined;
}

/** What a node is and its two switches (W3.2), the cards that wait there, and its folded review steps. */
export function Detail({ desk, node, folded, unfolded, prefix, onFold, onClose, onCard }: DetailProps) {
  const cards = (desk.state.value?.pending ?? []).filter((card) => node.interrupts.includes(card.id));
  const titleId = `${prefix}detail-title`;
  const closed = desk.options.read_only || desk.connection.value === "lost";
  return (
    <div
      class="llm4s-detail"
      role="group"
      aria-labelledby={titleId}
      data-testid="node-detail"
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="llm4s-detail-head">
        <h4 class="llm4s-detail-title" id={titleId}>
          <Plain text={node.id} />
        </h4>
        <span class={`llm4s-status llm4s-is-${node.status}`}>{STATUS_WORDS[node.status]}</span>
        <button type="button" class="llm4s-button llm4s-quiet llm4s-small" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </div>
      {node.can_hold ? (
        <div class="llm4s-holds">
          <Hold desk={desk} node={node} phase="BEFORE" closed={closed} />
          <Hold desk={desk} node={node} phase="AFTER" closed={closed} />
        </div>
      ) : (
        <p class="llm4s-hint">
          {node.folded_into === null ? (
            "This node takes no breakpoint."
          ) : (
            <>
              {"It continues "}
              <Plain text={node.folded_into} />
              {" after a review, and is held through that step."}
            </>
          )}
        </p>
      )}
      {node.can_hold && node.hold_after !== "off" && (
        <p class="llm4s-hint" data-testid="routes-stand">
          A task held after it ran goes on where it said it would; editing the state meanwhile does not change that.
        </p>
      )}
      {node.can_hold && desk.state.value?.holds_apply_next_run && <p class="llm4s-hint">A change applies from the next run or resume.</p>}
      {cards.length > 0 && <Waiting cards={cards} onCard={onCard} />}
      {folded > 0 && (
        <button type="button" class="llm4s-button llm4s-small" data-testid="unfold" aria-expanded={unfolded} onClick={onFold}>
          {unfolded ? "Fold review steps" : `Show ${folded} review ${folded === 1 ? "step" : "steps"}`}
        </button>
      )}
    </div>
  );
}

function Waiting({ cards, onCard }: { cards: readonly PendingCard[]; onCard: ((id: string) => void) | undefined }) {
  return (
    <ul class="llm4s-waiting">
      {cards.map((card) => (
        <li key={card.id}>
          {onCard === undefined ? (
            <Plain text={card.title} />
          ) : (
            <button type="button" class="llm4s-button llm4s-small" onClick={() => onCard(card.id)}>
              {"Go to: "}
              <Plain text={card.title} />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

function Hold({ desk, node, phase, closed }: { desk: Desk; node: NodeView; phase: "BEFORE" | "AFTER"; closed: boolean }) {
  const side = phase === "BEFORE" ? "before" : "after";
  const hold = phase === "BEFORE" ? node.hold_before : node.hold_after;
  return (
    <button
      type="button"
      class={`llm4s-switch llm4s-mark-${hold}`}
      role="switch"
      aria-checked={hold !== "off"}
      data-testid={`hold-${side}`}
      disabled={closed || hold === "fixed"}
      onClick={() => desk.setHold(node.id, phase, hold === "off")}
    >
      <span class="llm4s-switch-knob" aria-hidden="true" />
      {`hold ${side}`}
      {hold === "fixed" && <span class="llm4s-hint"> fixed by the agent or run</span>}
    </button>
  );
}

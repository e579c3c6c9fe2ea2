import { useEffect, useRef, useState } from "preact/hooks";
import { Plain } from "../text";
import { Act } from "./act";
import { type Bulk, bulkCards, bulkDecisions } from "./bulk";
import { type PanelScope, usePanel } from "./context";
import { callName } from "./name";

const WORDS: Readonly<Record<Bulk, { button: string; look: "primary" | "danger"; thing: [string, string] }>> = {
  approve: { button: "Approve all", look: "primary", thing: ["call", "calls"] },
  reject: { button: "Reject all", look: "danger", thing: ["call", "calls"] },
  proceed: { button: "Proceed all", look: "primary", thing: ["breakpoint", "breakpoints"] },
};

const BULKS: readonly Bulk[] = ["approve", "reject", "proceed"];

/** So many of what is decided are listed in the question. */
const LISTED = 12;

interface Asked {
  bulk: Bulk;
  ids: readonly string[];
}

/** Decisions for all that is shown, each after one confirmation that names the number (W2.6), and the switch to decide several together. */
export function Toolbar({ closed }: { closed: boolean }) {
  const scope = usePanel();
  const [asked, setAsked] = useState<Asked | null>(null);
  const count = scope.desk.state.value?.pending.length ?? 0;
  const offered = BULKS.map((bulk) => ({ bulk, count: bulkCards(scope, bulk).length })).filter((one) => one.count > 1);
  const ask = (bulk: Bulk) => {
    setAsked({ bulk, ids: bulkCards(scope, bulk).map((card) => card.id) });
    scope.guard.moved();
  };
  if (count < 2 && !scope.together.value && asked === null) return null;
  return (
    <div class="llm4s-toolbar">
      <div class="llm4s-actions">
        {(count > 1 || scope.together.value) && (
          <label class="llm4s-choice llm4s-together">
            <input
              type="checkbox"
              data-testid="together"
              checked={scope.together.value}
              disabled={closed}
              onChange={(event) => {
                scope.together.value = event.currentTarget.checked;
              }}
            />
            <span>Decide several, send them together</span>
          </label>
        )}
        {offered.map(({ bulk, count }) => (
          <Act
            key={bulk}
            name={bulk}
            of="all"
            testid={`${bulk}-all`}
            disabled={closed}
            expanded={asked?.bulk === bulk}
            onAct={() => ask(bulk)}
          >
            {`${WORDS[bulk].button} ${count}`}
          </Act>
        ))}
      </div>
      {asked !== null && <Confirm scope={scope} asked={asked} closed={closed} onClose={() => setAsked(null)} />}
    </div>
  );
}

function Confirm({ scope, asked, closed, onClose }: { scope: PanelScope; asked: Asked; closed: boolean; onClose: () => void }) {
  const { button, look, thing } = WORDS[asked.bulk];
  const decisions = bulkDecisions(scope, asked.bulk, asked.ids);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const panel = box.current?.closest<HTMLElement>(".llm4s-panel");
    box.current?.focus();
    // The buttons go with the question, and the focus must not go with them.
    return () => panel?.focus();
  }, []);
  const verb = button.replace(" all", "");
  const ids = new Set(decisions.map((decision) => decision.id));
  const cards = (scope.desk.state.value?.pending ?? []).filter((card) => ids.has(card.id));
  const lines = cards.map((card) => (card.tool_name === null ? card.title : callName(card)));
  return (
    <div
      class="llm4s-confirm"
      role="alertdialog"
      aria-label={`${verb} ${decisions.length}?`}
      tabIndex={-1}
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <p>{`${verb} ${decisions.length} ${decisions.length === 1 ? thing[0] : thing[1]}? ${asked.bulk === "reject" ? "Each with the reason on its card." : "Only what was shown when you asked."}`}</p>
      <ul>
        {lines.slice(0, LISTED).map((line, index) => (
          <li key={index}>
            <Plain text={line} />
          </li>
        ))}
        {lines.length > LISTED && <li>{`and ${lines.length - LISTED} more`}</li>}
      </ul>
      <div class="llm4s-actions">
        <Act
          name="confirm"
          of={`all ${asked.bulk}`}
          testid="confirm"
          look={look}
          disabled={closed || decisions.length === 0}
          onAct={() => {
            scope.desk.submit(decisions);
            onClose();
          }}
        >
          {`${verb} ${decisions.length}`}
        </Act>
        <button type="button" class="llm4s-button" onClick={onClose}>
          Not now
        </button>
      </div>
    </div>
  );
}

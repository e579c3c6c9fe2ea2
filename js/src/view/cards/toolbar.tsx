import { useEffect, useRef, useState } from "preact/hooks";
import { Act } from "./act";
import { type Bulk, bulkCards, bulkDecisions } from "./bulk";
import { type PanelScope, usePanel } from "./context";

const WORDS: Readonly<Record<Bulk, { button: string; look: "primary" | "danger"; thing: [string, string] }>> = {
  approve: { button: "Approve all", look: "primary", thing: ["call", "calls"] },
  reject: { button: "Reject all", look: "danger", thing: ["call", "calls"] },
  proceed: { button: "Proceed all", look: "primary", thing: ["breakpoint", "breakpoints"] },
};

const BULKS: readonly Bulk[] = ["approve", "reject", "proceed"];

interface Asked {
  bulk: Bulk;
  ids: readonly string[];
}

/** Decisions for all that is shown, each after one confirmation that names the number (W2.6), and the switch to decide several together. */
export function Toolbar({ closed }: { closed: boolean }) {
  const scope = usePanel();
  const [asked, setAsked] = useState<Asked | null>(null);
  const count = scope.desk.state.value?.pending.length ?? 0;
  const offered = BULKS.filter((bulk) => bulkCards(scope, bulk).length > 1);
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
        {offered.map((bulk) => (
          <Act
            key={bulk}
            name={bulk}
            of="all"
            testid={`${bulk}-all`}
            disabled={closed}
            expanded={asked?.bulk === bulk}
            onAct={() => ask(bulk)}
          >
            {`${WORDS[bulk].button} ${bulkCards(scope, bulk).length}`}
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
  const titles = (scope.desk.state.value?.pending ?? [])
    .filter((card) => decisions.some((decision) => decision.id === card.id))
    .map((card) => card.title);
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
        {titles.map((title, index) => (
          <li key={index}>{title}</li>
        ))}
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

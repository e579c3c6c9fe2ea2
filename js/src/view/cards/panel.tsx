import { computed, type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Desk } from "../desk";
import { Help } from "../help";
import { Arrivals } from "./arrivals";
import { chosenCards } from "./bulk";
import { PanelProvider, type PanelScope } from "./context";
import { useFollow } from "./follow";
import { Footer, submitChosen } from "./footer";
import { shown } from "./groups";
import { ClickGuard } from "./guard";
import { goTo, KEYS, onPanelKey } from "./keys";
import { CardList } from "./list";
import { StaleProblems } from "./stale";
import { Toolbar } from "./toolbar";

interface PanelProps {
  desk: Desk;
  prefix: string;
  /** The id of a card that somebody outside wants to go to. */
  wanted?: Signal<string | null>;
}

/** Everything the turn waits for, as cards under four headings (W2). */
export function Panel({ desk, prefix, wanted }: PanelProps) {
  const scope = useMemo(() => scopeOf(desk, prefix, wanted ?? signal(null)), [desk, prefix, wanted]);
  useEffect(() => () => scope.guard.dispose(), [scope]);
  const root = useRef<HTMLElement>(null);
  const [helping, setHelping] = useState(false);
  const pending = desk.state.value?.pending ?? [];
  const cards = shown(pending);
  const onFocus = useFollow(cards, () => root.current, scope);
  useEffect(() => focusProblem(root.current, scope), [desk.refusal.value]);
  // Deciding together is said of the cards on screen; a lone card that comes after them is answered at once again.
  useEffect(() => {
    if (pending.length < 2 && chosenCards(scope).length === 0) scope.together.value = false;
  }, [pending.length, scope]);
  const { read_only } = desk.options;
  const closed = read_only || desk.connection.value === "lost";
  return (
    <PanelProvider value={scope}>
      <section
        class="llm4s-panel"
        aria-label="Waiting for a person"
        data-testid="panel"
        tabIndex={-1}
        ref={root}
        onFocusIn={onFocus}
        onFocusOut={onFocus}
        onKeyDown={(event) => {
          if (root.current === null) return;
          const meant = onPanelKey(event, scope, root.current, {
            help: () => setHelping((on) => !on),
            submitChosen: (current) => submitChosen(scope, current),
          });
          if (meant) event.preventDefault();
        }}
      >
        {pending.length > 0 && (
          <header class="llm4s-panel-head">
            <h3 class="llm4s-heading">
              Waiting for {read_only ? "a person" : "you"} <span class="llm4s-count">{pending.length}</span>
            </h3>
            {!read_only && (
              <button
                type="button"
                class="llm4s-button llm4s-quiet llm4s-small llm4s-help-button"
                aria-expanded={helping}
                aria-label="Keyboard help"
                onClick={() => setHelping((on) => !on)}
              >
                ?
              </button>
            )}
            {!read_only && <Toolbar closed={closed} />}
          </header>
        )}
        {helping && <Help keys={KEYS} place="panel" onClose={() => setHelping(false)} />}
        <StaleProblems desk={desk} />
        <CardList pending={pending} />
        {!read_only && <Footer scope={scope} closed={closed} />}
        <Arrivals cards={cards} />
      </section>
    </PanelProvider>
  );
}

function scopeOf(desk: Desk, prefix: string, wanted: Signal<string | null>): PanelScope {
  const scope = { desk, prefix, wanted, guard: new ClickGuard(), together: signal(false), tried: signal(new Map<string, number>()) };
  return { ...scope, collecting: computed(() => scope.together.value || chosenCards(scope).length > 0) };
}

/** A common submit was refused: go to the first card that has a problem, unless the person has gone to a card since. */
function focusProblem(panel: HTMLElement | null, scope: PanelScope): void {
  const { desk } = scope;
  if (panel === null || desk.refusal.value === null) return;
  const active = (panel.getRootNode() as Document | ShadowRoot).activeElement;
  const aside = active === null || active === document.body || (panel.contains(active) && active.closest("[data-card]") === null);
  const first = shown(desk.state.value?.pending ?? []).find((card) => (desk.problems.value[card.id] ?? []).length > 0);
  if (aside && first !== undefined) goTo(scope, panel, first.id);
}

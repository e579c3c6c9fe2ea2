import { Act } from "./act";
import { chosenCards } from "./bulk";
import type { PanelScope } from "./context";
import { decide } from "./decide";
import { readDraft } from "./draft";
import { noteTried } from "./hand";

/** Send every chosen decision as one resume. What cannot be sent keeps all of them here and says why. */
export function submitChosen(scope: PanelScope): boolean {
  const cards = chosenCards(scope);
  if (cards.length === 0) return false;
  const outcomes = cards.map((card) => ({ card, outcome: decide(card, readDraft(scope.desk.drafts.value[card.id])) }));
  const bad = outcomes.filter(({ outcome }) => !outcome.ok);
  if (bad.length > 0) {
    noteTried(
      scope,
      bad.map(({ card }) => card.id),
    );
    return true;
  }
  scope.desk.submit(outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.decision] : [])));
  return true;
}

/** The common submit of what was chosen. */
export function Footer({ scope, closed }: { scope: PanelScope; closed: boolean }) {
  const count = chosenCards(scope).length;
  if (count === 0 && !scope.together.value) return null;
  return (
    <footer class="llm4s-footer">
      <Act name="submit" of="all" testid="submit-all" look="primary" disabled={closed || count === 0} onAct={() => submitChosen(scope)}>
        {count === 1 ? "Submit 1 decision" : `Submit ${count} decisions`}
      </Act>
      <span class="llm4s-hint">{count === 0 ? "Choose on the cards above." : "as one answer: all are taken or none (Ctrl+Enter)"}</span>
    </footer>
  );
}

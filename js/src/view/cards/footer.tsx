import { Act } from "./act";
import { chosenCards } from "./bulk";
import type { PanelScope } from "./context";
import { choicesOf, decide } from "./decide";
import { type Choice, readDraft } from "./draft";
import { forgetTried, noteTried } from "./hand";
import { callName } from "./name";

/** So many calls are named beside the button that sends them. */
const NAMED = 3;

/**
 * Send every chosen decision, and what is begun on the card one is in, as one resume. What cannot be sent keeps all of them here and
 * says why. False where there is nothing to send.
 */
export function submitChosen(scope: PanelScope, current: string | null = null): boolean {
  const { desk } = scope;
  const here = desk.state.value?.pending.find((card) => card.id === current && !desk.sent.value.has(card.id));
  const chosen = chosenCards(scope);
  const cards = here === undefined || chosen.includes(here) ? chosen : [...chosen, here];
  const outcomes = cards.flatMap((card) => {
    const draft = readDraft(desk.drafts.value[card.id]);
    const choice: Choice | null =
      draft.decision ?? (choicesOf(card)[0] === "reply" && (chosen.length === 0 || "value" in draft) ? "reply" : null);
    return choice === null ? [] : [{ card, outcome: decide(card, draft, choice) }];
  });
  if (outcomes.length === 0) return false;
  const bad = outcomes.filter(({ outcome }) => !outcome.ok);
  if (bad.length > 0) {
    noteTried(
      scope,
      bad.map(({ card }) => card.id),
    );
    return true;
  }
  forgetTried(
    scope,
    outcomes.map(({ card }) => card.id),
  );
  scope.desk.submit(outcomes.flatMap(({ outcome }) => (outcome.ok ? [outcome.decision] : [])));
  return true;
}

/** The common submit of what was chosen. What destroys something is named beside it. */
export function Footer({ scope, closed }: { scope: PanelScope; closed: boolean }) {
  const cards = chosenCards(scope);
  const count = cards.length;
  if (count === 0 && !scope.together.value) return null;
  const calls = cards.flatMap((card) => {
    const draft = readDraft(scope.desk.drafts.value[card.id]);
    if (!card.destructive || draft.decision === "reject") return [];
    return [draft.decision === "edit" ? `${callName(card)} (edited)` : callName(card)];
  });
  const more = calls.length > NAMED ? ` and ${calls.length - NAMED} more` : "";
  return (
    <footer class="llm4s-footer">
      <Act name="submit" of="all" testid="submit-all" look="primary" disabled={closed || count === 0} onAct={() => submitChosen(scope)}>
        {count === 1 ? "Submit 1 decision" : `Submit ${count} decisions`}
      </Act>
      {calls.length > 0 && (
        <span class="llm4s-runs">
          {"runs "}
          <bdi>{`${calls.slice(0, NAMED).join(", ")}${more}`}</bdi>
        </span>
      )}
      <span class="llm4s-hint">{count === 0 ? "Choose on the cards above." : "as one answer: all are taken or none (Ctrl+Enter)"}</span>
    </footer>
  );
}

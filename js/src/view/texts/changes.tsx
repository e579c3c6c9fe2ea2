import type { TextCounts, TextFilter } from "../../wire/texts";
import type { TextsDesk } from "./desk";
import { numberText } from "./words";

interface Change {
  readonly show: TextFilter["show"] & keyof TextCounts;
  /** One text, and several. */
  readonly words: readonly [string, string];
  readonly look: "good" | "bad" | "plain";
}

const AGAINST: readonly Change[] = [
  { show: "newly_refused", words: ["newly refused", "newly refused"], look: "plain" },
  { show: "newly_passing", words: ["newly passing", "newly passing"], look: "plain" },
];
const AGREEMENT: readonly Change[] = [
  { show: "mended", words: ["false alarm passes now", "false alarms pass now"], look: "good" },
  { show: "missed", words: ["blocked text passes now", "blocked texts pass now"], look: "bad" },
];

/** What other guardrails changed: texts newly refused and newly passing, false alarms that are gone, blocked texts that come through. */
export function Changes({ desk }: { desk: TextsDesk }) {
  const state = desk.state.value;
  if (state === null) return null;
  const against = AGAINST.filter(({ show }) => state.counts[show] !== null);
  const agreement = AGREEMENT.filter(({ show }) => (state.counts[show] ?? 0) > 0);
  if (against.length + agreement.length === 0) return null;
  return (
    <div class="llm4s-texts-changes" role="group" aria-label="What has changed" data-testid="texts-changes">
      {against.length > 0 && <span class="llm4s-hint">Against the run before:</span>}
      {[...against, ...agreement].map(({ show, words, look }) => {
        const count = state.counts[show] ?? 0;
        return (
          <button
            key={show}
            type="button"
            class={`llm4s-button llm4s-small llm4s-texts-change llm4s-is-${look}`}
            data-testid={`texts-${show}`}
            disabled={count === 0}
            aria-pressed={desk.filter.value.show === show}
            onClick={() => desk.look({ show, verdict: "any", guardrail: null, search: "" })}
          >
            <strong>{numberText(count)}</strong> {words[count === 1 ? 0 : 1]}
          </button>
        );
      })}
    </div>
  );
}

import { useState } from "preact/hooks";
import { Plain } from "../text";
import type { TextsDesk } from "./desk";
import { numberText, textsText } from "./words";

/** How far the run is, and the buttons that start and stop it. */
export function Head({ desk }: { desk: TextsDesk }) {
  const state = desk.state.value;
  // Checking everything anew may cost a model's calls, so it asks once more.
  const [sure, setSure] = useState(false);
  if (state === null) return <p class="llm4s-hint">Loading …</p>;
  const closed = desk.connection.value === "lost";
  const whole = state.checked === state.total;
  const done = whole ? `${textsText(state.total)} checked` : `${numberText(state.checked)} of ${textsText(state.total)} checked`;
  const rate = state.per_second === null ? "" : `${numberText(Math.round(state.per_second))} texts/s`;
  return (
    <header class="llm4s-texts-head">
      <h2 class="llm4s-title">Text review</h2>
      <span class="llm4s-tag">{state.phase}</span>
      <span class="llm4s-texts-progress" data-testid="texts-progress" data-running={state.running}>
        {[done, state.running ? rate : ""].filter((part) => part !== "").join(" · ")}
      </span>
      {state.checked > 0 && (
        <span data-testid="texts-left">
          <strong>{numberText(state.counts.refused)}</strong> refused, <strong>{numberText(state.totals.undecided)}</strong> undecided
        </span>
      )}
      <span class="llm4s-texts-run">
        {state.running ? (
          <button
            type="button"
            class="llm4s-button llm4s-danger llm4s-small"
            data-testid="texts-cancel"
            disabled={closed || state.cancelling}
            onClick={() => desk.cancel()}
          >
            {state.cancelling ? "Stopping …" : "Stop"}
          </button>
        ) : (
          state.total > 0 && (
            <button
              type="button"
              class={`llm4s-button llm4s-small ${whole && !sure ? "" : "llm4s-primary"}`}
              data-testid="texts-run"
              disabled={closed}
              onBlur={() => setSure(false)}
              onClick={(event) => {
                if (event.detail > 1) return;
                if (!whole || sure) desk.run(whole);
                setSure(whole && !sure);
              }}
            >
              {whole
                ? sure
                  ? `Check all ${textsText(state.total)} anew`
                  : "Run again…"
                : state.checked === 0
                  ? "Run the guardrails"
                  : "Go on"}
            </button>
          )
        )}
      </span>
      {state.running && <progress class="llm4s-texts-bar" aria-label="Texts checked" max={state.total} value={state.checked} />}
      <p class="llm4s-hint llm4s-texts-storage">
        <Plain text={state.storage} />
      </p>
    </header>
  );
}

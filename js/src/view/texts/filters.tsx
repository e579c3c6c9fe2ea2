import { useEffect, useRef, useState } from "preact/hooks";
import type { TextFilter } from "../../wire/texts";
import type { TextsDesk } from "./desk";
import { numberText, SHOW_WORDS, textsText, VERDICT_WORDS } from "./words";

/** How long after the last keystroke a search is made. */
const SEARCH_AFTER_MS = 250;

/** What is listed: which texts, with which verdict, by which guardrail, holding which words. */
export function Filters({ desk, prefix, onCleared }: { desk: TextsDesk; prefix: string; onCleared: () => void }) {
  const state = desk.state.value;
  const filter = desk.filter.value;
  if (state === null || state.total === 0) return null;
  const shows = (Object.keys(SHOW_WORDS) as TextFilter["show"][]).filter(
    (show) => show === filter.show || show === "refused" || show === "all" || (state.counts[show] ?? 0) > 0,
  );
  const narrowed = filter.verdict !== "any" || filter.guardrail !== null || filter.search !== "" || filter.show !== "refused";
  return (
    <div class="llm4s-texts-filters" role="group" aria-label="What is listed">
      <Choice
        label="Show"
        id={`${prefix}show`}
        value={filter.show}
        options={shows.map((show) => [show, `${SHOW_WORDS[show]} (${numberText(state.counts[show] ?? 0)})`])}
        onPick={(show) => desk.look({ show: show as TextFilter["show"] })}
      />
      <Choice
        label="Verdict"
        id={`${prefix}verdict`}
        value={filter.verdict}
        options={Object.entries(VERDICT_WORDS)}
        onPick={(verdict) => desk.look({ verdict: verdict as TextFilter["verdict"] })}
      />
      {state.guardrails.length > 1 && (
        <Choice
          label="Guardrail"
          id={`${prefix}guardrail`}
          value={filter.guardrail ?? ""}
          options={[["", "any guardrail"], ...state.guardrails.map((name): [string, string] => [name, name])]}
          onPick={(name) => desk.look({ guardrail: name === "" ? null : name })}
        />
      )}
      <Search desk={desk} id={`${prefix}search`} />
      <span class="llm4s-hint" data-testid="texts-found">
        {desk.found.value === null ? "" : `${textsText(desk.found.value.positions.length)} listed`}
      </span>
      {narrowed && (
        <button
          type="button"
          class="llm4s-button llm4s-quiet llm4s-small"
          data-testid="texts-clear"
          onClick={() => {
            onCleared(); // this button goes, and must not take the focus with it
            desk.look({ show: "refused", verdict: "any", guardrail: null, search: "" });
          }}
        >
          All refused
        </button>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  id: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onPick: (value: string) => void;
}

function Choice({ label, id, value, options, onPick }: ChoiceProps) {
  return (
    <span class="llm4s-texts-filter">
      <label class="llm4s-sr" for={id}>
        {label}
      </label>
      <select
        id={id}
        class="llm4s-input"
        data-testid={`texts-pick-${label.toLowerCase()}`}
        value={value}
        onChange={(event) => onPick(event.currentTarget.value)}
      >
        {options.map(([key, words]) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </select>
    </span>
  );
}

function Search({ desk, id }: { desk: TextsDesk; id: string }) {
  const searched = desk.filter.value.search;
  const [typed, setTyped] = useState(searched);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => setTyped(searched), [searched]);
  return (
    <span class="llm4s-texts-filter">
      <label class="llm4s-sr" for={id}>
        Search
      </label>
      <input
        id={id}
        class="llm4s-input"
        type="search"
        data-testid="texts-search"
        dir="auto"
        maxLength={1000}
        placeholder="Search ( / )"
        value={typed}
        onInput={(event) => {
          const search = event.currentTarget.value;
          setTyped(search);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => desk.look({ search }), SEARCH_AFTER_MS);
        }}
      />
    </span>
  );
}

import type { Desk } from "../desk";
import { Plain } from "../text";
import { clockText } from "../time";

/** Answers that came too late: their cards are gone, so the panel says it, with who answered and when (F41). */
export function StaleProblems({ desk }: { desk: Desk }) {
  const state = desk.state.value;
  const pending = new Set(state?.pending.map((card) => card.id));
  const stale = Object.entries(desk.problems.value).flatMap(([id, problems]) =>
    pending.has(id) || id.startsWith("agent:") ? [] : problems.map((problem) => ({ id, problem })),
  );
  if (stale.length === 0) return null;
  const now = Date.now() + desk.clockAhead.value;
  return (
    <ul class="llm4s-problems llm4s-stale">
      {stale.map(({ id, problem }) => {
        const answered = state?.answered.find((one) => one.id === id);
        const at = problem.answered_at_ms ?? answered?.at_ms ?? null;
        const by = problem.answered_by ?? answered?.by ?? null;
        const already = problem.code === "answered";
        return (
          <li key={`${id} ${problem.message}`} class="llm4s-fault" data-testid="problem">
            {already && "Already answered"}
            {already && at !== null && ` at ${clockText(at, now)}`}
            {already && by !== null && " by "}
            {already && by !== null && <Plain text={by} />}
            {already && answered !== undefined && ": "}
            {already && answered !== undefined && <Plain text={answered.summary} />}
            {already ? ". " : ""}
            <Plain text={problem.message} />
          </li>
        );
      })}
      <li>
        <button type="button" class="llm4s-button llm4s-small" onClick={() => desk.clearProblems(stale.map(({ id }) => id))}>
          Dismiss
        </button>
      </li>
    </ul>
  );
}

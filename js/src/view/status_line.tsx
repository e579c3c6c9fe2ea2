import type { SessionState } from "../wire/index";
import type { Desk } from "./desk";
import { Facts } from "./facts";
import { Plain } from "./text";
import { durationText, useNow } from "./time";

const SIGNS: Readonly<Record<SessionState["status"], string>> = {
  new: "○",
  running: "▶",
  suspended: "❚❚",
  completed: "✓",
  blocked: "⊘",
  step_limit: "!",
  unfinished: "!",
};

const numbers = new Intl.NumberFormat();

/** Where the thread stands and where it lives: state in words, seconds while it runs, thread, storage, usage (W4.3). */
export function StatusLine({ desk }: { desk: Desk }) {
  const state = desk.state.value;
  const run = state?.run ?? null;
  const now = useNow(desk.clockAhead.value, 1000, run !== null);
  if (state === null) return null;
  const { usage } = state;
  const waiting = desk.live.value?.waiting ?? null;
  return (
    <div class="llm4s-status-line" data-testid="status-line" data-status={state.status}>
      <p class="llm4s-now">
        <span class={`llm4s-status llm4s-is-${state.status}`}>
          <span aria-hidden="true">{`${SIGNS[state.status]} `}</span>
          <Plain text={state.status_text} />
        </span>
        {run !== null && (
          <span class="llm4s-run" data-testid="run-line">
            {[
              durationText(now - run.started_at_ms),
              run.superstep === null ? "" : `superstep ${run.superstep}`,
              run.nodes.length === 0
                ? ""
                : run.nodes.slice(0, 3).join(", ") + (run.nodes.length > 3 ? ` and ${run.nodes.length - 3} more` : ""),
              run.cancelling ? "cancelling …" : "",
            ]
              .filter(Boolean)
              .join(" · ")}
          </span>
        )}
      </p>
      {waiting !== null && (
        <p class="llm4s-waiting" data-testid="waiting-line">
          <Plain text={waiting} />
        </p>
      )}
      {/* The seconds of the line above change; this does not, and so is read out once. */}
      <p class="llm4s-sr" role="status">
        {waiting !== null && "The model keeps you waiting."}
      </p>
      <Facts
        facts={[
          { name: "thread", value: state.thread_id },
          { name: "stored", value: state.storage.text },
          { name: "usage", value: usageText(usage) },
        ]}
      />
    </div>
  );
}

function usageText({ requests, input_tokens, output_tokens, cost }: SessionState["usage"]): string {
  const parts = [`${numbers.format(requests)} ${requests === 1 ? "request" : "requests"}`, `${numbers.format(input_tokens)} tokens in`];
  parts.push(`${numbers.format(output_tokens)} out`);
  if (cost !== null) parts.push(`cost ${cost}`);
  return parts.join(", ");
}

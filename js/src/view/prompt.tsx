import { useEffect, useRef, useState } from "preact/hooks";
import type { Desk } from "./desk";
import { directionOf } from "./direction";
import { useKeptFocus } from "./focus";

/** The next thing to ask, and the buttons that start, stop and take up a turn. */
export function Prompt({ desk, prefix }: { desk: Desk; prefix: string }) {
  const [query, setQuery] = useState("");
  // Begun here, a turn leaves the field where it is: the next question can be written, and nothing jumps.
  const [mine, setMine] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const state = desk.state.value;
  const status = state?.status;
  const suggested = state?.editor?.suggested ?? "";
  // What was asked on the thread that was left is asked again with one press, unless something else is begun.
  useEffect(() => {
    if (suggested === "") return undefined;
    setQuery((begun) => begun || suggested);
    // Back on a thread where it cannot be asked, a suggestion that nobody changed is gone again.
    return () => setQuery((begun) => (begun === suggested ? "" : begun));
  }, [suggested]);
  useEffect(() => {
    if (status === "suspended") setMine(false);
  }, [status]);
  useKeptFocus(
    box,
    () =>
      box.current?.querySelector("textarea") ?? box.current?.closest(".llm4s-console")?.querySelector<HTMLElement>('[data-testid="panel"]'),
  );
  if (state === null) return null;
  const closed = desk.options.read_only || desk.connection.value === "lost";
  const asking = desk.asked.value;
  const canRun = state.can_run && !closed && !asking.has("run");
  const canAbandon = state.is_agent && !state.running && (state.status === "suspended" || state.status === "unfinished");
  const run = async () => {
    if (!canRun || query.trim() === "") return;
    setMine(true);
    const reply = await desk.run(query);
    if (reply.kind === "done") setQuery("");
  };
  const id = `${prefix}prompt`;
  const here = state.can_run || (mine && state.running);
  return (
    <div class="llm4s-prompt" ref={box}>
      {(here || query !== "") && (
        <>
          <label class="llm4s-sr" for={id}>
            What to ask
          </label>
          <textarea
            id={id}
            class="llm4s-input llm4s-textarea"
            data-testid="prompt"
            dir={directionOf(query)}
            rows={2}
            value={query}
            placeholder="Ask something … (Ctrl+Enter runs it)"
            readOnly={desk.options.read_only}
            onInput={(event) => setQuery(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return undefined;
              event.preventDefault();
              event.stopPropagation();
              return run();
            }}
          />
        </>
      )}
      <div class="llm4s-actions">
        {here && (
          <button
            type="button"
            class="llm4s-button llm4s-primary"
            data-testid="run"
            disabled={!canRun || query.trim() === ""}
            onClick={run}
          >
            Run
          </button>
        )}
        {state.can_cancel && (
          <button
            type="button"
            class="llm4s-button llm4s-danger"
            data-testid="cancel"
            disabled={closed || asking.has("cancel")}
            onClick={() => desk.cancel()}
          >
            {state.run?.cancelling ? "Cancelling …" : "Cancel"}
          </button>
        )}
        {state.can_recover && (
          <button
            type="button"
            class="llm4s-button llm4s-primary"
            data-testid="recover"
            disabled={closed || asking.has("recover")}
            onClick={() => desk.recover()}
          >
            Recover
          </button>
        )}
        {canAbandon && <Abandon desk={desk} closed={closed || asking.has("abandon")} />}
      </div>
    </div>
  );
}

/** Giving up a turn throws its messages away, so it asks once more. */
function Abandon({ desk, closed }: { desk: Desk; closed: boolean }) {
  const [sure, setSure] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  useKeptFocus(box, () => box.current?.querySelector("button"));
  if (!sure) {
    return (
      <span ref={box}>
        <button type="button" class="llm4s-button llm4s-quiet" data-testid="abandon" disabled={closed} onClick={() => setSure(true)}>
          Abandon turn…
        </button>
      </span>
    );
  }
  return (
    <span class="llm4s-sure" ref={box}>
      <span>Give up this turn? Its messages are removed from the thread.</span>
      <button type="button" class="llm4s-button" onClick={() => setSure(false)}>
        Keep it
      </button>
      <button type="button" class="llm4s-button llm4s-danger" data-testid="abandon-sure" disabled={closed} onClick={() => desk.abandon()}>
        Abandon
      </button>
    </span>
  );
}

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Json, MessageView, SessionState, ToolCallView } from "../wire/index";
import type { Desk } from "./desk";
import { isObject } from "./json";
import { Scroll } from "./scroll";
import { Block, Plain } from "./text";
import { Value } from "./value";

const ROLES: Readonly<Record<MessageView["role"], string>> = { user: "User", assistant: "Assistant", tool: "Tool" };

const CALL_STATES: Readonly<Record<ToolCallView["state"], { glyph: string; words: string }>> = {
  waiting: { glyph: "❚❚", words: "waiting" },
  running: { glyph: "▶", words: "running" },
  no_result: { glyph: "–", words: "no result yet" },
  done: { glyph: "✓", words: "ran" },
  error: { glyph: "✕", words: "error" },
  not_run: { glyph: "⊘", words: "not run" },
};

/** The turn as it was said: messages with their roles, tool calls with what came of them, and what a person changed (W4.1). */
export function Transcript({ desk }: { desk: Desk }) {
  const state = desk.state.value;
  const list = useRef<HTMLDivElement>(null);
  const length = state?.messages.length ?? 0;
  useLayoutEffect(() => {
    if (list.current !== null) list.current.scrollTop = list.current.scrollHeight;
  }, [length, state?.thread_id]);
  if (state === null) return null;
  const results = new Map(
    state.messages.flatMap((message) => (message.tool_call_id === null ? [] : [[message.tool_call_id, message] as const])),
  );
  const called = new Set(state.messages.flatMap((message) => message.tool_calls.map((call) => call.id)));
  const shown = state.messages.filter(
    (message) => message.role !== "tool" || message.tool_call_id === null || !called.has(message.tool_call_id),
  );
  const unsaid = unsaidQuery(state);
  const empty = shown.length === 0 && unsaid === null && state.status !== "blocked";
  return (
    <section class="llm4s-transcript" aria-label="Transcript" data-testid="transcript">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable without a pointer */}
      <div class="llm4s-messages" ref={list} tabIndex={0} role="group" aria-label="Messages">
        {empty && <p class="llm4s-hint">Nothing said yet.</p>}
        {shown.map((message) => (
          <Message key={message.id} message={message} results={results} />
        ))}
        {unsaid !== null && (
          <article class="llm4s-message llm4s-from-user">
            <h3 class="llm4s-role">
              User <span class="llm4s-hint">not stored yet</span>
            </h3>
            <Block text={unsaid} label="User" />
          </article>
        )}
        {state.status === "blocked" && <Removed state={state} />}
      </div>
    </section>
  );
}

/** The turn's query while nothing of the turn is stored. */
function unsaidQuery(state: SessionState): string | null {
  if (state.query === null || !["running", "suspended", "unfinished"].includes(state.status)) return null;
  const last = state.messages.filter((message) => message.role === "user").at(-1);
  return last?.text === state.query || last?.text.startsWith(state.query) ? null : state.query;
}

function Message({ message, results }: { message: MessageView; results: ReadonlyMap<string, MessageView> }) {
  return (
    <article class={`llm4s-message llm4s-from-${message.role}`} data-role={message.role}>
      <h3 class="llm4s-role">
        {ROLES[message.role]}
        {message.is_error && <span class="llm4s-tag llm4s-is-failed">✕ error</span>}
        {message.not_run && <span class="llm4s-tag llm4s-is-not_run">⊘ not run</span>}
      </h3>
      {message.text !== "" && <Block text={message.text} label={`${ROLES[message.role]} message`} />}
      {message.text === "" && message.tool_calls.length === 0 && <p class="llm4s-hint">(empty)</p>}
      {message.tool_calls.map((call) => (
        <Call key={call.id} call={call} result={results.get(call.id)} />
      ))}
    </article>
  );
}

function Call({ call, result }: { call: ToolCallView; result: MessageView | undefined }) {
  const { glyph, words } = CALL_STATES[call.state];
  const args = call.arguments as Json;
  return (
    <div class={`llm4s-call llm4s-call-${call.state}`} data-call={call.id} data-state={call.state}>
      <p class="llm4s-call-head">
        <code class="llm4s-literal">
          <Plain text={call.name} />
        </code>
        <span class={`llm4s-tag llm4s-is-${call.state}`}>{`${glyph} ${words}`}</span>
        {call.edited && <span class="llm4s-tag llm4s-is-edited">✎ edited by a person</span>}
      </p>
      {!(isObject(args) && Object.keys(args).length === 0) && (
        <Scroll class="llm4s-data" label={`Arguments of ${call.name}`}>
          <Value value={args} />
        </Scroll>
      )}
      {result !== undefined && (
        <Block
          text={result.text}
          label={`Result of ${call.name}`}
          kind={result.is_error || result.not_run ? "llm4s-refused" : "llm4s-result"}
        />
      )}
    </div>
  );
}

/** A blocked turn leaves nothing in the thread: that is said where its messages would be. */
function Removed({ state }: { state: SessionState }) {
  return (
    <article class="llm4s-message llm4s-removed" data-testid="removed">
      <h3 class="llm4s-role">
        <span class="llm4s-tag llm4s-is-failed">✕ blocked</span>
      </h3>
      {state.query !== null && (
        <del class="llm4s-block">
          <Plain text={state.query} />
        </del>
      )}
      <p class="llm4s-hint">
        <Plain text={state.status_text} />
      </p>
      <p class="llm4s-hint">This turn was removed from the thread: the model will not see it again.</p>
    </article>
  );
}

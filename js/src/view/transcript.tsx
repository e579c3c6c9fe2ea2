import { useMemo } from "preact/hooks";
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
  writing: { glyph: "…", words: "writing" },
};

/**
 * The turn as it was said: messages with their roles, tool calls with what came of them, and what a person changed (W4.1); last, what is
 * being written (W4.7). A message keeps its key, and so its elements, when it is stored; the stored ones are not gone through for a piece.
 */
export function Transcript({ desk }: { desk: Desk }) {
  const state = desk.state.value;
  const writing = desk.live.value?.messages ?? [];
  const said = useMemo(() => (state === null ? [] : saidIn(state)), [state]);
  if (state === null) return null;
  return (
    <section class="llm4s-transcript" aria-label="Transcript" data-testid="transcript">
      <Scroll class="llm4s-messages" label="Messages" follow>
        {said.length + writing.length === 0 && state.status !== "blocked" && <p class="llm4s-hint">Nothing said yet.</p>}
        {[...said, ...writing.map((message) => <Message key={message.id} message={message} results={NONE} live />)]}
        {state.status === "blocked" && <Removed state={state} />}
      </Scroll>
    </section>
  );
}

type Results = ReadonlyMap<ToolCallView, MessageView>;

const NONE: Results = new Map();

/** The stored messages, and the query of a turn that has stored nothing. A model may use a call's id again in a later message, and a result is of the latest. */
function saidIn(state: SessionState) {
  const results = new Map<ToolCallView, MessageView>();
  const shown: MessageView[] = [];
  let calls = new Map<string | null, ToolCallView>();
  for (const message of state.messages) {
    if (message.role === "assistant") calls = new Map(message.tool_calls.map((call) => [call.id, call]));
    const call = message.role === "tool" ? calls.get(message.tool_call_id) : undefined;
    if (call === undefined) shown.push(message);
    else results.set(call, message);
  }
  const text = unsaidQuery(state);
  if (text !== null) {
    const none = { tool_calls: [], tool_call_id: null, is_error: false, not_run: false };
    shown.push({ ...none, id: "unsaid", role: "user", text, note: "not stored yet" });
  }
  return shown.map((message) => <Message key={message.id} message={message} results={results} />);
}

/** The turn's query while nothing of the turn is stored. */
function unsaidQuery(state: SessionState): string | null {
  if (state.query === null || !["running", "suspended", "unfinished"].includes(state.status)) return null;
  const last = state.messages.filter((message) => message.role === "user").at(-1);
  return last?.text === state.query || last?.text.startsWith(state.query) ? null : state.query;
}

interface MessageProps {
  message: MessageView;
  results: Results;
  /** It is being written: nobody is read every word of it. */
  live?: boolean;
}

function Message({ message, results, live }: MessageProps) {
  return (
    <article class={`llm4s-message llm4s-from-${message.role}`} data-role={message.role} aria-busy={live}>
      <h3 class="llm4s-role">
        {ROLES[message.role]}
        {message.is_error && <span class="llm4s-tag llm4s-is-failed">✕ error</span>}
        {message.not_run && <span class="llm4s-tag llm4s-is-not_run">⊘ not run</span>}
        {message.note !== null && (
          <span class="llm4s-note">
            <Plain text={message.note} />
          </span>
        )}
      </h3>
      {message.text !== "" && <Block text={message.text} label={`${ROLES[message.role]} message`} follow={live} />}
      {!live && message.text === "" && message.tool_calls.length === 0 && <p class="llm4s-hint">(empty)</p>}
      {message.tool_calls.map((call) => (
        <Call key={call.id} call={call} result={results.get(call)} />
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

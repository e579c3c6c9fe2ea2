import { useSignal } from "@preact/signals";
import { AgentEditor, Offer } from "./agent_editor";
import { Panel } from "./cards/panel";
import type { Desk } from "./desk";
import { Graph } from "./graph/graph";
import { ConnectionLine, Live, Notes, TurnLive } from "./notes";
import { Prompt } from "./prompt";
import { StatusLine } from "./status_line";
import { Plain } from "./text";
import { Transcript } from "./transcript";

interface ViewProps {
  desk: Desk;
  prefix: string;
}

/** A turn in one cell: what was said, what waits, the graph, and the next thing to ask (W4.3). */
export function ConsoleView({ desk, prefix }: ViewProps) {
  const wanted = useSignal<string | null>(null);
  const state = desk.state.value;
  return (
    <div class="llm4s-console" data-testid="console">
      <div class="llm4s-head">
        <h2 class="llm4s-title">
          <Plain text={state?.title ?? "Loading …"} />
        </h2>
        <StatusLine desk={desk} />
      </div>
      <ConnectionLine desk={desk} />
      <Notes desk={desk} />
      <AgentEditor desk={desk} prefix={prefix} />
      <div class="llm4s-columns">
        <div class="llm4s-main">
          <Transcript desk={desk} />
          <Panel desk={desk} prefix={prefix} wanted={wanted} />
          <Prompt desk={desk} prefix={prefix} />
        </div>
        <div class="llm4s-side">
          <Graph
            desk={desk}
            prefix={prefix}
            onCard={(id) => {
              wanted.value = id;
            }}
          />
        </div>
      </div>
      <TurnLive desk={desk} />
    </div>
  );
}

/** The cards alone. */
export function PanelView({ desk, prefix }: ViewProps) {
  const waiting = desk.state.value?.pending.length ?? 0;
  return (
    <div class="llm4s-alone">
      <ConnectionLine desk={desk} />
      <Notes desk={desk} />
      <Offer desk={desk} prefix={prefix} />
      <Panel desk={desk} prefix={prefix} />
      {waiting === 0 && desk.state.value !== null && (
        <p class="llm4s-hint" data-testid="nothing">
          {"Nothing waits for a person: "}
          <Plain text={desk.state.value.status_text} />
        </p>
      )}
      <TurnLive desk={desk} />
    </div>
  );
}

/** The graph alone. */
export function GraphOnlyView({ desk, prefix }: ViewProps) {
  return (
    <div class="llm4s-alone">
      <ConnectionLine desk={desk} />
      <Notes desk={desk} />
      <Graph desk={desk} prefix={prefix} />
      <Live desk={desk} />
    </div>
  );
}

/** The transcript alone. */
export function TranscriptView({ desk }: ViewProps) {
  return (
    <div class="llm4s-alone">
      <ConnectionLine desk={desk} />
      <Transcript desk={desk} />
    </div>
  );
}

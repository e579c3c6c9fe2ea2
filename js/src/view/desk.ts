import type { ReadonlySignal } from "@preact/signals";
import type { Decision, Json, JsonObject, LiveView, Options, Phase, Problem, Refusal, SessionState, WayOn } from "../wire/index";

/** An answer on its way to the kernel. */
export interface Sending {
  readonly id: string;
  readonly late: boolean;
  readonly stuck: boolean;
}

/** What the pieces draw from and what they may ask for. They know no kernel: a test hands them a desk of its own. */
export interface Desk {
  readonly state: ReadonlySignal<SessionState | null>;
  readonly live: ReadonlySignal<LiveView | null>;
  readonly options: Options;
  readonly connection: ReadonlySignal<"connecting" | "connected" | "busy" | "lost">;
  readonly late: ReadonlySignal<"sent" | "quiet" | null>;
  readonly drafts: ReadonlySignal<Readonly<Record<string, JsonObject>>>;
  readonly problems: ReadonlySignal<Readonly<Record<string, readonly Problem[]>>>;
  readonly refusal: ReadonlySignal<Refusal | null>;
  readonly said: ReadonlySignal<string>;
  readonly sent: ReadonlySignal<ReadonlyMap<string, Sending>>;
  readonly asked: ReadonlySignal<ReadonlySet<string>>;
  readonly clockAhead: ReadonlySignal<number>;
  setDraft(id: string, draft: JsonObject | null): void;
  submit(decisions: Decision[]): void;
  run(query: string): Promise<{ kind: string }>;
  cancel(): void;
  recover(): void;
  abandon(): void;
  setHold(node: string, phase: Phase, on: boolean): void;
  changeAgent(agent: string, value: Json): Promise<{ kind: string }>;
  goOn(way: WayOn, thread: string): Promise<{ kind: string }>;
  sendAgain(requestId: string): void;
  clearProblems(ids: readonly string[]): void;
}

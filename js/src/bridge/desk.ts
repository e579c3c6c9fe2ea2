import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type {
  Decision,
  Json,
  JsonObject,
  LiveView,
  Options,
  Phase,
  Pieces,
  Problem,
  Refusal,
  Reply,
  RequestBody,
  SessionState,
  WayOn,
} from "../wire/index";
import { DraftStore } from "./drafts";
import type { Kernel } from "./kernel";
import { Link, type Outgoing } from "./link";
import { refusal } from "./refusal";
import { continued } from "./written";

/** A clock that differs from ours by less than this is taken as the same clock. */
const SAME_CLOCK_MS = 2000;

/**
 * One view's desk: the session's state as signals, and one method for each thing a person can do. Each view of a model has its own,
 * so that two views share nothing but the kernel.
 */
export class Desk {
  readonly state: ReadonlySignal<SessionState | null>;
  /** What is being written: as the last document or welcome has it, and continued since. */
  readonly live = signal<LiveView | null>(null);
  readonly options: Options;
  readonly link: Link;
  readonly store: DraftStore;
  /** Problems of refused answers, by interrupt id; one without a card of its own is under "" (W2.7). */
  readonly problems = signal<Readonly<Record<string, readonly Problem[]>>>({});
  /** The last refusal, where its problems do not say it all. */
  readonly refusal = signal<Refusal | null>(null);
  /** What the live region says. */
  readonly said = signal("");
  /** Interrupt ids that are on their way, with their request. */
  readonly sent: ReadonlySignal<ReadonlyMap<string, Outgoing>>;
  /** What the person has just asked for beside answers: "run", "cancel", … */
  readonly asked: ReadonlySignal<ReadonlySet<string>>;
  /** Add to the browser's clock to get the kernel's, in milliseconds. */
  readonly clockAhead = signal(0);

  private readonly current = signal<SessionState | null>(null);
  /** Ids that a submit has taken and the state has not yet dropped. */
  private readonly taken = signal<ReadonlySet<string>>(new Set());
  private readonly stops: (() => void)[] = [];

  constructor(private readonly kernel: Kernel) {
    this.options = kernel.options();
    this.current.value = kernel.state();
    this.live.value = this.current.value?.live ?? null;
    this.state = this.current;
    this.store = new DraftStore((id, draft) => this.saveDraft(id, draft));
    this.link = new Link(
      kernel,
      (welcome) => {
        this.takeDrafts(welcome.drafts);
        this.live.value = welcome.live;
      },
      (message) => (message.kind === "drafts" ? this.takeDrafts(message.drafts) : this.written(message)),
    );
    this.sent = computed(() => sentIds(this.link.outgoing.value, this.taken.value));
    this.asked = computed(() => new Set([...this.link.outgoing.value.values()].map((request) => request.body.kind)));
    this.stops.push(kernel.onState(() => this.changed()));
    this.link.greet();
  }

  get connection() {
    return this.link.connection;
  }

  get late() {
    return this.link.late;
  }

  get drafts(): ReadonlySignal<Readonly<Record<string, JsonObject>>> {
    return this.store.all;
  }

  setDraft(id: string, draft: JsonObject | null): void {
    this.store.set(id, draft);
  }

  /** Answer some of what is pending in one resume, all or nothing (W2.6). Ids already on their way are left out. */
  submit(decisions: Decision[]): void {
    const fresh = decisions.filter((decision) => !this.sent.value.has(decision.id));
    if (fresh.length === 0) return;
    const ids = fresh.map((decision) => decision.id);
    this.clearProblems(ids);
    this.ask({ kind: "submit", decisions: fresh }, () => {
      this.taken.value = new Set([...this.taken.value, ...ids]);
    });
  }

  run(query: string): Promise<Reply> {
    return this.ask({ kind: "run", query });
  }

  cancel(): void {
    void this.ask({ kind: "cancel" });
  }

  recover(): void {
    void this.ask({ kind: "recover" });
  }

  abandon(): void {
    void this.ask({ kind: "abandon" });
  }

  setHold(node: string, phase: Phase, on: boolean): void {
    void this.ask({ kind: "set_hold", node, phase, on });
  }

  changeAgent(agent: string, value: Json): Promise<Reply> {
    return this.ask({ kind: "change_agent", agent, value: value as JsonObject });
  }

  goOn(way: WayOn, thread_id: string): Promise<Reply> {
    return this.ask({ kind: "go_on", way, thread_id });
  }

  sendAgain(requestId: string): void {
    this.link.again(requestId);
  }

  /** Something of ours broke: shown where refusals are, so that it does not vanish (F33). */
  fault(error: unknown): void {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const next_step = "What you typed is kept. Try it again, or answer in code.";
    this.refusal.value = refusal("", "WidgetError", what, "in this view's own code", next_step);
  }

  clearProblems(ids: readonly string[]): void {
    this.refusal.value = null;
    const rest = Object.entries(this.problems.value).filter(([id]) => id !== "" && !ids.includes(id));
    this.problems.value = Object.fromEntries(rest);
  }

  dispose(): void {
    this.store.flush();
    for (const stop of this.stops) stop();
    this.link.dispose();
  }

  /** A draft that the session does not take is still in this page; while its card waits the person is told. */
  private async saveDraft(id: string, draft: Json): Promise<boolean> {
    const reply = await this.link.ask({ kind: "save_draft", id, draft }).reply;
    if (reply.kind !== "refused") return true;
    if (this.current.value?.pending.some((card) => card.id === id)) this.refusal.value = reply;
    return false;
  }

  private async ask(body: RequestBody, done?: () => void): Promise<Reply> {
    this.refusal.value = null;
    const reply = await this.link.ask(body).reply;
    try {
      if (reply.kind === "done") {
        done?.();
        if (reply.said !== "") this.said.value = reply.said;
      } else if (reply.kind === "refused") {
        this.refused(reply);
      }
    } catch (error) {
      this.fault(error);
    }
    return reply;
  }

  private refused(reply: Refusal): void {
    const problems: Record<string, Problem[]> = {};
    for (const problem of reply.problems) {
      const id = problem.interrupt_id ?? "";
      problems[id] = [...(problems[id] ?? []), problem];
    }
    this.problems.value = { ...this.problems.value, ...problems };
    this.refusal.value = reply;
    this.said.value = `Not sent: ${reply.error.what}`;
  }

  /** A piece that does not follow what this view has says that some were missed: hello brings the whole. */
  private written(pieces: Pieces): void {
    const live = this.live.value;
    if (live === null || pieces.number <= live.number) return;
    if (pieces.number > live.number + 1) {
      if (!this.asked.value.has("hello")) this.link.greet();
      return;
    }
    this.live.value = continued(live, pieces);
  }

  private takeDrafts(drafts: JsonObject): void {
    this.store.take(drafts);
  }

  private changed(): void {
    const state = this.kernel.state();
    if (state === null) return;
    this.link.heard();
    const previous = this.current.value;
    if (previous !== null && state.thread_id === previous.thread_id && state.revision < previous.revision) return;
    const ahead = state.updated_at_ms - Date.now();
    this.clockAhead.value = Math.abs(ahead) > SAME_CLOCK_MS ? ahead : 0;
    this.current.value = state;
    this.live.value = state.live;
    const pending = new Set(state.pending.map((card) => card.id));
    // What is begun or wrong on the form of an agent is there whatever waits.
    for (const { id } of state.editor?.agents ?? []) pending.add(`agent:${id}`);
    // A taken answer that is pending again although nothing runs came back with a failed resume: it can be given anew.
    this.taken.value = new Set(state.running ? [...this.taken.value].filter((id) => pending.has(id)) : []);
    this.problems.value = Object.fromEntries(
      Object.entries(this.problems.value).filter(
        ([id, list]) => id === "" || pending.has(id) || list.some((one) => one.code === "answered"),
      ),
    );
    this.store.keepOnly(pending);
  }
}

function sentIds(outgoing: ReadonlyMap<string, Outgoing>, taken: ReadonlySet<string>): ReadonlyMap<string, Outgoing> {
  const sent = new Map<string, Outgoing>();
  for (const request of outgoing.values()) {
    if (request.body.kind === "submit") for (const { id } of request.body.decisions) sent.set(id, request);
  }
  for (const id of taken) {
    if (!sent.has(id)) sent.set(id, { id, body: { kind: "submit", decisions: [] }, late: false, stuck: false });
  }
  return sent;
}

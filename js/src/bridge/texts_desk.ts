import { type ReadonlySignal, signal } from "@preact/signals";
import type { Json, JsonObject, Refusal } from "../wire/index";
import type {
  OpenedText,
  TextFilter,
  TextMark,
  TextRow,
  TextsAnswer,
  TextsPush,
  TextsRequestBody,
  TextsState,
  TextVerdict,
} from "../wire/texts";
import { decodeTexts } from "./decode_texts";
import { DraftStore } from "./drafts";
import type { Kernel } from "./kernel";
import { Link } from "./link";
import { refusal } from "./refusal";

const MARKS: Readonly<Record<string, TextMark>> = { u: "undecided", a: "allow", e: "edit", b: "block", n: "none" };
const EVERYTHING_REFUSED: TextFilter = { show: "refused", verdict: "any", guardrail: null, search: "" };

interface Found {
  readonly filter: TextFilter;
  readonly positions: readonly number[];
  readonly places: ReadonlyMap<number, number>;
}

/**
 * One view's desk of a text review. It holds positions and marks of the whole list, the rows that were on screen, and the one text that is
 * open; everything else stays in the kernel, so that ten thousand texts cost the page no more than a hundred.
 */
export class TextsDesk {
  readonly state: ReadonlySignal<TextsState | null>;
  readonly link: Link<TextsRequestBody, TextsAnswer, TextsPush>;
  readonly store: DraftStore;
  readonly refusal = signal<Refusal | null>(null);
  readonly said = signal("");
  readonly filter = signal<TextFilter>(EVERYTHING_REFUSED);
  readonly found = signal<Found | null>(null);
  readonly marks = signal<ReadonlyMap<number, TextMark>>(new Map());
  readonly rows = signal<ReadonlyMap<number, TextRow>>(new Map());
  readonly current = signal<number | null>(null);
  readonly opened = signal<OpenedText | null>(null);
  readonly sending = signal<ReadonlySet<number>>(new Set());

  private readonly now = signal<TextsState | null>(null);
  /** Rows that were asked for and need not be again. */
  private readonly asked = new Set<number>();
  private finding = false;
  private findAgain = false;
  private foundResults = -1;
  private readonly stops: (() => void)[] = [];

  constructor(private readonly kernel: Kernel<TextsState, TextsRequestBody>) {
    this.now.value = kernel.state();
    this.state = this.now;
    this.store = new DraftStore((id, draft) => this.saveDraft(id, draft));
    this.link = new Link<TextsRequestBody, TextsAnswer, TextsPush>(
      kernel,
      (welcome) => this.store.take(welcome.drafts),
      (message) => this.push(message),
      decodeTexts,
    );
    this.stops.push(kernel.onState(() => this.changed()));
    this.link.greet();
    this.find();
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

  /** Change what is listed; the rest of the filter stays. */
  look(change: Partial<TextFilter>): void {
    this.filter.value = { ...this.filter.value, ...change };
    this.find();
  }

  /** These rows are on screen: ask for those that are not here yet. */
  want(positions: readonly number[]): void {
    const missing = positions.filter((position) => !this.asked.has(position));
    if (missing.length === 0) return;
    for (const position of missing) this.asked.add(position);
    void this.link.ask({ kind: "rows", positions: missing }).reply.then((reply) => {
      if (reply.kind !== "rows") return;
      const rows = new Map(this.rows.value);
      const marks = new Map(this.marks.value);
      for (const row of reply.rows) {
        rows.set(row.position, row);
        if (!this.sending.value.has(row.position)) marks.set(row.position, row.mark);
      }
      this.rows.value = rows;
      this.marks.value = marks;
    });
  }

  /** Open a text. The one before stays to be seen until this one has come; decided about it can no longer be. */
  select(position: number): void {
    this.current.value = position;
    this.open(position);
  }

  /** Go so many lines down the list, or up. */
  step(by: number): void {
    const { found, current } = this;
    if (found.value === null || found.value.positions.length === 0) return;
    const place = current.value === null ? -1 : (found.value.places.get(current.value) ?? -1);
    const last = found.value.positions.length - 1;
    const next = found.value.positions[place < 0 ? (by > 0 ? 0 : last) : Math.min(last, Math.max(0, place + by))];
    if (next !== undefined && next !== current.value) this.select(next);
  }

  /**
   * Give a verdict on the text that is open, and go on to the next undecided one. False where the text has not come yet: nobody decides
   * about what they have not seen.
   */
  decide(verdict: TextVerdict, text: string | null, note: string | null): boolean {
    const position = this.current.value;
    if (position === null || this.opened.value?.position !== position || this.sending.value.has(position)) return false;
    const before = this.marks.value.get(position) ?? "none";
    this.refusal.value = null;
    this.mark([position], verdict);
    this.sending.value = new Set(this.sending.value).add(position);
    void this.link.ask({ kind: "decide", position, verdict, text, note }).reply.then((reply) => {
      const left = new Set(this.sending.value);
      left.delete(position);
      this.sending.value = left;
      if (reply.kind === "decided") {
        if (this.store.all.value[String(position)] !== undefined) this.store.set(String(position), null);
        this.said.value = reply.said;
      } else if (reply.kind === "refused") {
        this.mark([position], before);
        this.refused(reply);
        this.select(position);
      }
    });
    this.next(position);
    return true;
  }

  undo(): void {
    this.refusal.value = null;
    void this.link.ask({ kind: "undo" }).reply.then((reply) => {
      if (reply.kind === "refused") this.refused(reply);
      if (reply.kind !== "decided") return;
      this.said.value = reply.said;
      if (this.found.value?.places.has(reply.position)) this.select(reply.position);
    });
  }

  run(again: boolean): void {
    this.command({ kind: "run", again });
  }

  cancel(): void {
    this.command({ kind: "cancel" });
  }

  setDraft(position: number, draft: JsonObject | null): void {
    this.store.set(String(position), draft);
  }

  /** Something of ours broke: shown where refusals are, so that it does not vanish (F33). */
  fault(error: unknown): void {
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const next_step = "What you typed is kept. Try it again, or decide in code.";
    this.refused(refusal("", "WidgetError", what, "in this view's own code", next_step));
  }

  dispose(): void {
    this.store.flush();
    for (const stop of this.stops) stop();
    this.link.dispose();
  }

  /** A draft that the review does not take, as one that is too long, is still in this page; the person is told. */
  private async saveDraft(id: string, draft: Json): Promise<boolean> {
    const reply = await this.link.ask({ kind: "save_draft", id, draft }).reply;
    if (reply.kind === "refused") this.refusal.value = reply;
    return reply.kind !== "refused";
  }

  private command(body: TextsRequestBody): void {
    this.refusal.value = null;
    void this.link.ask(body).reply.then((reply) => {
      if (reply.kind === "refused") this.refused(reply);
      else if (reply.kind === "done") this.said.value = reply.said;
    });
  }

  private refused(refusal: Refusal): void {
    this.refusal.value = refusal;
    this.said.value = `Not done: ${refusal.error.what}`;
  }

  /** List what the filter finds; while one answer is awaited no other is asked for, and then the newest filter. */
  private find(): void {
    if (this.finding) {
      this.findAgain = true;
      return;
    }
    this.finding = true;
    const filter = this.filter.value;
    void this.link.ask({ kind: "find", ...filter }).reply.then((reply) => {
      this.finding = false;
      if (reply.kind === "found") {
        this.foundResults = reply.results;
        this.list(filter, reply.positions, reply.marks);
      } else if (reply.kind === "refused") {
        this.refused(reply);
      }
      if (this.findAgain) {
        this.findAgain = false;
        this.find();
      }
    });
  }

  private list(filter: TextFilter, positions: readonly number[], letters: string): void {
    const marks = new Map<number, TextMark>();
    const places = new Map<number, number>();
    positions.forEach((position, place) => {
      places.set(position, place);
      marks.set(position, MARKS[letters[place] ?? "n"] ?? "none");
    });
    for (const position of this.sending.value) marks.set(position, this.marks.value.get(position) ?? "none");
    this.asked.clear();
    this.marks.value = marks;
    this.found.value = { filter, positions, places };
    const current = this.current.value;
    if (current !== null && places.has(current)) {
      if (this.opened.value?.position !== current || this.state.value?.running === false) this.open(current);
      return;
    }
    const first = positions.find((position) => marks.get(position) === "undecided") ?? positions[0];
    if (first === undefined) {
      this.current.value = null;
      this.opened.value = null;
    } else {
      this.select(first);
    }
  }

  /** The next text of the list that nobody has decided about, from this one on and then from the beginning; else stay. */
  private next(position: number): void {
    const positions = this.found.value?.positions ?? [];
    const place = this.found.value?.places.get(position) ?? -1;
    const onwards = [...positions.slice(place + 1), ...positions.slice(0, Math.max(0, place))];
    const next = onwards.find((one) => this.marks.value.get(one) === "undecided");
    if (next !== undefined) this.select(next);
  }

  private open(position: number): void {
    void this.link.ask({ kind: "open", position }).reply.then((reply) => {
      if (reply.kind === "opened" && reply.position === this.current.value) this.opened.value = reply;
      else if (reply.kind === "refused") this.refused(reply);
    });
  }

  private mark(positions: readonly number[], mark: TextMark): void {
    const marks = new Map(this.marks.value);
    for (const position of positions) marks.set(position, mark);
    this.marks.value = marks;
  }

  private push(message: TextsPush): void {
    if (message.kind === "drafts") {
      this.store.take(message.drafts);
      return;
    }
    this.mark(
      message.positions.filter((position) => !this.sending.value.has(position)),
      message.mark,
    );
    const current = this.current.value;
    if (current !== null && message.positions.includes(current)) this.open(current);
  }

  private changed(): void {
    const state = this.kernel.state();
    if (state === null) return;
    this.link.heard();
    if (state.revision < (this.now.value?.revision ?? 0)) return;
    this.now.value = state;
    if (state.results !== this.foundResults) this.find();
  }
}

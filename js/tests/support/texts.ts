import type { AnyModel } from "@anywidget/types";
import { act } from "@testing-library/preact";
import type { Options, Reply } from "../../src/wire/index";
import type { OpenedText, TextMark, TextRow, TextsAnswer, TextsPush, TextsRequestBody, TextsState } from "../../src/wire/texts";
import { readFixture } from "./fixture";

type Listener = (...given: unknown[]) => void;
type Sent = { request_id: string; body: TextsRequestBody };
type Said = TextsAnswer | TextsPush | Reply;
type Body<K extends TextsRequestBody["kind"]> = Extract<TextsRequestBody, { kind: K }>;

const LETTERS: Readonly<Record<TextMark, string>> = { undecided: "u", allow: "a", edit: "e", block: "b", none: "n" };
export const readTexts = <T>(name: string): T => readFixture(`texts/${name}`) as unknown as T;

/** A text review's model without a kernel, holding so many refused texts. It answers when it is told to, as the kernel would. */
export class FakeTexts {
  readonly requests: Sent[] = [];
  readonly marks: TextMark[];
  readonly given: number[] = [];
  readonly listeners = new Map<string, Set<Listener>>();
  state: TextsState;
  refuse: string | null = null;
  private answered = 0;

  constructor(
    readonly texts: readonly string[],
    change: Partial<TextsState> = {},
  ) {
    this.marks = texts.map(() => "undecided");
    const count = texts.length;
    const state = readTexts<TextsState>("state");
    this.state = { ...state, total: count, checked: count, counts: { ...state.counts, refused: count, all: count }, ...change };
  }

  get model(): AnyModel<{ state: TextsState; options: Options }> {
    return this as unknown as AnyModel<{ state: TextsState; options: Options }>;
  }

  get(key: string) {
    return key === "state" ? this.state : undefined;
  }

  on(event: string, callback: Listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(callback));
  }

  off(event: string, callback: Listener) {
    this.listeners.get(event)?.delete(callback);
  }

  send(request: Sent) {
    this.requests.push(JSON.parse(JSON.stringify(request)));
  }

  /** Bodies of the requests of a kind, oldest first. */
  sent<K extends TextsRequestBody["kind"]>(kind: K): Body<K>[] {
    return this.requests.map(({ body }) => body).filter((body): body is Body<K> => body.kind === kind);
  }

  /** Answer everything that was asked, and what is asked because of that. */
  async settle() {
    while (this.answered < this.requests.length) {
      const request = this.requests[this.answered++];
      if (request !== undefined) await this.say(this.answer(request));
    }
  }

  async say(...messages: unknown[]) {
    await act(async () => {
      for (const message of messages) this.emit("msg:custom", JSON.parse(JSON.stringify(message)), []);
      await Promise.resolve();
    });
  }

  async push(change: Partial<TextsState>) {
    await act(async () => {
      this.state = { ...this.state, ...change, revision: this.state.revision + 1 };
      this.emit("change:state");
      await Promise.resolve();
    });
  }

  row(position: number): TextRow {
    const excerpt = (this.texts[position] ?? "").slice(0, 160);
    return { position, id: `t${position}`, excerpt, guardrail: "no promises", outcome: "refused", mark: this.marks[position] ?? "none" };
  }

  open(position: number): OpenedText {
    const mark = this.marks[position] ?? "none";
    const verdict = mark === "undecided" || mark === "none" ? null : { verdict: mark, text: null, note: "as given", at_ms: 0, by: null };
    const golden = readTexts<OpenedText>("opened");
    return { ...golden, position, id: `t${position}`, text: this.texts[position] ?? "", mark, verdict };
  }

  private answer({ request_id, body }: Sent): Said {
    const left = this.marks.filter((mark) => mark === "undecided").length;
    const refused = (what: string): Said => ({
      kind: "refused",
      request_id,
      error: { type: "ConfigError", what, where: "in decide", next_step: "correct it", at_ms: 0 },
      problems: [],
    });
    switch (body.kind) {
      case "hello":
        return { kind: "welcome", request_id, revision: 0, drafts: {}, live: { number: 0, waiting: null, messages: [] } };
      case "find": {
        const positions = [...this.texts.keys()].filter((position) => body.verdict === "any" || this.marks[position] === body.verdict);
        const marks = positions.map((position) => LETTERS[this.marks[position] ?? "none"]).join("");
        return { kind: "found", request_id, results: this.state.results, positions, marks };
      }
      case "rows":
        return { kind: "rows", request_id, rows: body.positions.map((position) => this.row(position)) };
      case "open":
        return { ...this.open(body.position), request_id };
      case "decide":
        if (this.refuse !== null) return refused(this.refuse);
        this.marks[body.position] = body.verdict;
        this.given.push(body.position);
        return { kind: "decided", request_id, said: `${body.verdict}, ${left - 1} left`, position: body.position, left: left - 1 };
      case "undo": {
        const position = this.given.pop();
        if (position === undefined) return refused("no verdict was given since this kernel started");
        this.marks[position] = "undecided";
        return { kind: "decided", request_id, said: "taken back", position, left };
      }
      default:
        return { kind: "done", request_id, said: body.kind };
    }
  }

  private emit(event: string, ...given: unknown[]) {
    for (const listener of [...(this.listeners.get(event) ?? [])]) listener(...given);
  }
}

import type { AnyModel } from "@anywidget/types";
import { act } from "@testing-library/preact";
import type { JsonObject, Message, Options, Request, RequestBody, SessionState } from "../../src/wire/index";

type Listener = (...given: unknown[]) => void;

/** A widget's model without a kernel: keeps what was sent, and sends what a test says. It answers nothing by itself. */
export class FakeModel {
  readonly requests: Request[] = [];
  readonly listeners = new Map<string, Set<Listener>>();
  broken = false;

  constructor(
    public state: SessionState,
    public options: Options = { read_only: false, view: "console" },
    readonly widget_manager: unknown = {},
  ) {}

  get model(): AnyModel<{ state: SessionState; options: Options }> {
    return this as unknown as AnyModel<{ state: SessionState; options: Options }>;
  }

  get(key: "state" | "options") {
    return this[key];
  }

  on(event: string, callback: Listener) {
    this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(callback));
  }

  off(event: string, callback: Listener) {
    this.listeners.get(event)?.delete(callback);
  }

  send(request: Request) {
    if (this.broken) throw new Error("the comm is closed");
    this.requests.push(JSON.parse(JSON.stringify(request)));
  }

  /** Bodies of the requests of a kind, oldest first. */
  sent<K extends RequestBody["kind"]>(kind: K): Extract<RequestBody, { kind: K }>[] {
    return this.requests.map((request) => request.body).filter((body): body is Extract<RequestBody, { kind: K }> => body.kind === kind);
  }

  lastId(kind: RequestBody["kind"]): string {
    const found = this.requests.filter((request) => request.body.kind === kind).at(-1);
    if (found === undefined) throw new Error(`nothing of kind ${kind} was sent`);
    return found.request_id;
  }

  async message(message: Message | unknown) {
    await act(async () => {
      this.emit("msg:custom", JSON.parse(JSON.stringify(message)), []);
      await Promise.resolve();
    });
  }

  async welcome(drafts: JsonObject = {}) {
    const live = this.state.live ?? { number: 0, waiting: null, messages: [] };
    await this.message({ kind: "welcome", request_id: this.lastId("hello"), revision: this.state.revision, drafts, live });
  }

  async done(kind: RequestBody["kind"], said = "") {
    await this.message({ kind: "done", request_id: this.lastId(kind), said });
  }

  /** The session has changed. */
  async push(change: Partial<SessionState>) {
    await act(async () => {
      this.state = { ...this.state, ...change, revision: this.state.revision + 1 };
      this.emit("change:state");
      await Promise.resolve();
    });
  }

  private emit(event: string, ...given: unknown[]) {
    for (const listener of [...(this.listeners.get(event) ?? [])]) listener(...given);
  }
}

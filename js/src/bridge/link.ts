import { computed, type ReadonlySignal, signal } from "@preact/signals";
import type { Drafts, Pieces, Refusal, Reply, RequestBody, Welcome } from "../wire/index";
import { decodeMessage } from "./decode";
import { freshId } from "./ids";
import type { Kernel } from "./kernel";
import { refusal } from "./refusal";

/** A request is late after this long without a reply: it is said within a second (W1.5). */
const LATE_AFTER_MS = 950;
/**
 * A longer request is not sent. A server closes the connection over a message of 12 MB, and that message is lost without a word; 5 MB was
 * seen to arrive.
 */
export const LONGEST_BYTES = 5_000_000;
/** A hello unanswered for this long means that nobody is there, unless the host knows that the kernel is busy. */
const LOST_AFTER_MS = 3000;
/** Waits between hellos while nobody answers; the last one repeats. */
const GREET_AGAIN_MS = [5000, 5000, 10_000, 15_000];
/** Silence after which touching the view makes it ask whether the kernel is still there. */
const SILENCE_MS = 10_000;
/** A request older than an answered hello by this much was lost on its way: the person may send it again. */
const STUCK_AFTER_MS = 5000;

export type Connection = "connecting" | "connected" | "busy" | "lost";

export interface Outgoing<Body = RequestBody> {
  readonly id: string;
  readonly body: Body;
  readonly late: boolean;
  /** The kernel has answered later requests but not this one. */
  readonly stuck: boolean;
}

interface Waiting<Answer> {
  settle: (reply: Answer) => void;
  timers: ReturnType<typeof setTimeout>[];
  sentAt: number;
}

/**
 * Requests and their replies over a model's custom messages: each request has a fresh id and is settled once, by the first reply
 * that names it. Nothing is sent twice by itself; a silent kernel shows as late requests and, in the end, as a lost connection.
 * Unless told otherwise it speaks the session's language: `Body` is what may be asked, `More` what is answered beside the common replies,
 * `Push` what comes unasked.
 */
export class Link<
  Body extends { kind: string } = RequestBody,
  More extends { kind: string; request_id: string } = never,
  Push extends { kind: string } = Drafts | Pieces,
> {
  readonly connection = signal<Connection>("connecting");
  readonly outgoing = signal<ReadonlyMap<string, Outgoing<Body>>>(new Map());
  /** What is late: something a person sent, only what the view asks by itself (a hello, a draft), or nothing. */
  readonly late: ReadonlySignal<"sent" | "quiet" | null> = computed(() => {
    const late = [...this.outgoing.value.values()].filter((request) => request.late);
    if (late.length === 0) return null;
    return late.some(({ body }) => body.kind !== "hello" && body.kind !== "save_draft") ? "sent" : "quiet";
  });

  private readonly waiting = new Map<string, Waiting<Reply | More>>();
  private hello: string | null = null;
  private helloCount = 0;
  private heardAt = 0;
  private greetTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly stops: (() => void)[] = [];
  private closed = false;
  /** The kernel this view belongs to was restarted: only a word from it brings the view back. */
  private gone = false;

  constructor(
    private readonly kernel: Kernel<unknown, Body>,
    private readonly onWelcome: (welcome: Welcome) => void,
    private readonly onPush: (message: Push) => void,
    private readonly decode: (content: unknown) => Reply | More | Push | null = decodeMessage as (content: unknown) => Reply | Push | null,
  ) {
    this.stops.push(kernel.onMessage((content) => this.receive(content)));
    this.stops.push(kernel.onRestart(() => this.restarted()));
  }

  /** Send a request; the promise settles with its reply, however late, and never rejects. */
  ask(body: Body): { id: string; reply: Promise<Reply | More> } {
    const id = freshId();
    const reply = new Promise<Reply | More>((settle) => {
      this.waiting.set(id, { settle, sentAt: Date.now(), timers: [] });
    });
    const size = bytesOf({ request_id: id, body });
    if (size > LONGEST_BYTES) {
      this.settle(tooLong(id, size));
      return { id, reply };
    }
    this.note({ id, body, late: false, stuck: false });
    this.transmit(id, body);
    return { id, reply };
  }

  /** Send a stuck request again under its own id, which the kernel carries out once however often it arrives. */
  again(id: string): void {
    const request = this.outgoing.value.get(id);
    if (request === undefined) return;
    this.note({ ...request, late: false, stuck: false });
    this.transmit(id, request.body);
  }

  /** Say hello: on render, and whenever it is worth knowing whether somebody is there. */
  greet(): void {
    if (this.closed) return;
    this.helloCount += 1;
    clearTimeout(this.greetTimer);
    if (this.hello !== null) this.forget(this.hello);
    const { id, reply } = this.ask({ kind: "hello" } as Body);
    this.hello = id;
    void reply.then((answer) => {
      if (answer.kind === "welcome") this.onWelcome(answer as Welcome);
    });
    const wait = GREET_AGAIN_MS[Math.min(this.helloCount, GREET_AGAIN_MS.length) - 1] ?? SILENCE_MS;
    this.greetTimer = setTimeout(() => this.hello !== null && this.greet(), wait);
  }

  /** The person has come to the view: after a long silence, ask whether the kernel is still there. */
  touched(): void {
    if (this.hello === null && Date.now() - this.heardAt > SILENCE_MS) this.greet();
  }

  /** Anything the kernel sends shows that it is there. */
  heard(): void {
    this.heardAt = Date.now();
    this.gone = false;
    if (this.connection.value !== "connected") this.connection.value = "connected";
  }

  dispose(): void {
    this.closed = true;
    clearTimeout(this.greetTimer);
    for (const stop of this.stops) stop();
    for (const { timers } of this.waiting.values()) timers.forEach(clearTimeout);
    this.waiting.clear();
    this.kernel.dispose();
  }

  private transmit(id: string, body: Body): void {
    const entry = this.waiting.get(id);
    if (entry === undefined) return;
    entry.sentAt = Date.now();
    entry.timers.push(setTimeout(() => this.mark(id, { late: true }), LATE_AFTER_MS));
    if (body.kind === "hello") entry.timers.push(setTimeout(() => this.unanswered(), LOST_AFTER_MS));
    try {
      this.kernel.send({ request_id: id, body });
    } catch {
      this.connection.value = "lost";
      if (body.kind !== "hello") this.settle(notConnected(id));
    }
  }

  private receive(content: unknown): void {
    const message = this.decode(content);
    if (message === null) return;
    this.heard();
    if ("request_id" in message) this.settle(message as Reply | More);
    else this.onPush(message as Push);
  }

  private settle(reply: Reply | More): void {
    const entry = this.waiting.get(reply.request_id);
    if (entry === undefined) return;
    if (reply.request_id === this.hello) {
      this.hello = null;
      this.helloCount = 0;
      clearTimeout(this.greetTimer);
      this.lookForStuck(entry.sentAt);
    }
    this.forget(reply.request_id);
    entry.settle(reply);
  }

  private forget(id: string): void {
    this.waiting.get(id)?.timers.forEach(clearTimeout);
    this.waiting.delete(id);
    const rest = new Map(this.outgoing.value);
    rest.delete(id);
    this.outgoing.value = rest;
  }

  /** A hello sent after a request was answered: give the request a little more, then let the person send it again. */
  private lookForStuck(helloSentAt: number): void {
    for (const [id, entry] of this.waiting) {
      if (entry.sentAt < helloSentAt) entry.timers.push(setTimeout(() => this.mark(id, { stuck: true }), STUCK_AFTER_MS));
    }
  }

  private unanswered(): void {
    this.connection.value = this.kernel.busy() && !this.gone ? "busy" : "lost";
  }

  private restarted(): void {
    this.gone = true;
    this.connection.value = "lost";
    this.greet();
  }

  private mark(id: string, change: Partial<Outgoing<Body>>): void {
    const request = this.outgoing.value.get(id);
    if (request === undefined) return;
    this.note({ ...request, ...change });
    if (change.late && request.body.kind !== "hello" && this.hello === null) this.greet();
  }

  private note(request: Outgoing<Body>): void {
    this.outgoing.value = new Map(this.outgoing.value).set(request.id, request);
  }
}

function notConnected(id: string): Refusal {
  const what = "This view has no connection to its kernel, so nothing was sent.";
  return refusal(id, "NotConnected", what, "in this page", "Run the cell again; what you typed stays here to copy.");
}

function tooLong(id: string, size: number): Refusal {
  const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
  const what = `This is ${megabytes(size)} long; a notebook's connection carries ${megabytes(LONGEST_BYTES)} at most, so nothing was sent.`;
  return refusal(id, "MessageTooLong", what, "in this page", "What you typed stays in this page only. Shorten it, or answer in code.");
}

/** The length of a request on the wire, in bytes. */
function bytesOf(request: { request_id: string; body: unknown }): number {
  const text = JSON.stringify(request);
  return text.length * 3 <= LONGEST_BYTES ? text.length : new TextEncoder().encode(text).length;
}

import { beforeEach, describe, expect, it, vi } from "vitest";
import { kernelOf } from "../../src/bridge/kernel";
import { Link } from "../../src/bridge/link";
import { FakeModel } from "../support/fake_model";
import { readSession } from "../support/fixture";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

function connect(manager: unknown = {}) {
  const fake = new FakeModel(readSession(), undefined, manager);
  const link = new Link(
    kernelOf(fake.model, (error) => {
      throw error;
    }),
    () => {},
    () => {},
  );
  return { fake, link };
}

type Slot = (sender: unknown, value: unknown) => void;

/** The part of JupyterLab's kernel connection that is listened to. */
function fakeLab(status = "idle") {
  const onStatus = new Set<Slot>();
  const onMessage = new Set<Slot>();
  const emitter = (slots: Set<Slot>) => ({ connect: (slot: Slot) => slots.add(slot), disconnect: (slot: Slot) => slots.delete(slot) });
  return {
    kernel: { status, statusChanged: emitter(onStatus), iopubMessage: emitter(onMessage) },
    becomes: (value: string) => onStatus.forEach((slot) => void slot(null, value)),
    cell: (msg_id: string, execution_state: "busy" | "idle") => {
      const message = {
        header: { msg_type: "status" },
        parent_header: { msg_type: "execute_request", msg_id },
        content: { execution_state },
      };
      onMessage.forEach((slot) => void slot(null, message));
    },
    listeners: () => onStatus.size + onMessage.size,
  };
}

describe("requests and replies", () => {
  it("sends each request with an id of its own and settles it with the reply that names it", async () => {
    const { fake, link } = connect();
    const first = link.ask({ kind: "cancel" });
    const second = link.ask({ kind: "recover" });
    expect(new Set(fake.requests.map((request) => request.request_id)).size).toBe(2);
    await fake.message({ kind: "done", request_id: second.id, said: "two" });
    await fake.message({ kind: "done", request_id: first.id, said: "one" });
    expect(await first.reply).toMatchObject({ kind: "done", said: "one" });
    expect(await second.reply).toMatchObject({ kind: "done", said: "two" });
    expect(link.outgoing.value.size).toBe(0);
  });

  it("W1.5: says within a second that a request is late, and takes it back when the reply comes", async () => {
    const { fake, link } = connect();
    const { id } = link.ask({ kind: "cancel" });
    await vi.advanceTimersByTimeAsync(900);
    expect(link.late.value).toBeNull();
    await vi.advanceTimersByTimeAsync(99);
    expect(link.late.value).toBe("sent");
    await fake.message({ kind: "done", request_id: id, said: "" });
    expect(link.late.value).toBeNull();
  });

  it("tells what a person sent from what the view asks by itself", async () => {
    const { fake, link } = connect();
    link.greet();
    await vi.advanceTimersByTimeAsync(1001);
    expect(link.late.value).toBe("quiet");
    link.ask({ kind: "cancel" });
    await vi.advanceTimersByTimeAsync(1001);
    expect(link.late.value).toBe("sent");
    await fake.done("cancel");
    expect(link.late.value).toBe("quiet");
  });

  it("F28: sends nothing a second time by itself", async () => {
    const { fake, link } = connect();
    link.ask({ kind: "submit", decisions: [] });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(fake.sent("submit")).toHaveLength(1);
  });

  it("settles once: a reply delivered twice, or for nobody, changes nothing", async () => {
    const { fake, link } = connect();
    const { id, reply } = link.ask({ kind: "cancel" });
    await fake.message({ kind: "done", request_id: id, said: "first" });
    await fake.message({ kind: "done", request_id: id, said: "second" });
    await fake.message({ kind: "done", request_id: "somebody else's", said: "third" });
    expect(await reply).toMatchObject({ said: "first" });
  });

  it("a lost request can be sent again, under its own id, once a later hello was answered", async () => {
    const { fake, link } = connect();
    const { id } = link.ask({ kind: "cancel" });
    await vi.advanceTimersByTimeAsync(1001);
    expect(fake.sent("hello")).toHaveLength(1);
    await fake.welcome();
    expect(link.outgoing.value.get(id)).toMatchObject({ stuck: false });
    await vi.advanceTimersByTimeAsync(5000);
    expect(link.outgoing.value.get(id)).toMatchObject({ stuck: true });
    link.again(id);
    expect(fake.requests.filter((request) => request.request_id === id)).toHaveLength(2);
  });

  it("a closed comm is a refusal that says so, not an exception", async () => {
    const { fake, link } = connect();
    fake.broken = true;
    expect(await link.ask({ kind: "cancel" }).reply).toMatchObject({ kind: "refused", error: { type: "NotConnected" } });
    expect(link.connection.value).toBe("lost");
  });
});

describe("connection", () => {
  it("F24: an unanswered hello means not connected, and a later one brings the view back", async () => {
    const { fake, link } = connect();
    link.greet();
    expect(link.connection.value).toBe("connecting");
    await vi.advanceTimersByTimeAsync(3001);
    expect(link.connection.value).toBe("lost");
    await vi.advanceTimersByTimeAsync(2100);
    expect(fake.sent("hello")).toHaveLength(2);
    await fake.welcome();
    expect(link.connection.value).toBe("connected");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fake.sent("hello")).toHaveLength(2);
  });

  it("F28: where the host knows that a cell runs, silence is not taken for absence", async () => {
    const lab = fakeLab();
    const { link } = connect(lab);
    lab.cell("c1", "busy");
    lab.becomes("idle"); // as a message handled beside the cell does
    link.greet();
    await vi.advanceTimersByTimeAsync(3001);
    expect(link.connection.value).toBe("busy");
    lab.cell("c1", "idle");
    await vi.advanceTimersByTimeAsync(5000);
    expect(link.connection.value).toBe("lost");
  });

  it("F28: the same for a cell that ran before the view came", async () => {
    const lab = fakeLab("busy");
    const { link } = connect(lab);
    link.greet();
    await vi.advanceTimersByTimeAsync(3001);
    expect(link.connection.value).toBe("busy");
    lab.cell("unknown", "idle");
    await vi.advanceTimersByTimeAsync(5000);
    expect(link.connection.value).toBe("lost");
  });

  it("F24: a restarted kernel is noticed at once where the host tells, also while the new one is busy", async () => {
    const lab = fakeLab();
    const { fake, link } = connect(lab);
    link.heard();
    lab.becomes("busy");
    expect(link.connection.value).toBe("connected");
    lab.becomes("restarting");
    expect(link.connection.value).toBe("lost");
    expect(fake.sent("hello")).toHaveLength(1);
    lab.cell("c1", "busy");
    await vi.advanceTimersByTimeAsync(20_000);
    expect(link.connection.value).toBe("lost");
    await fake.welcome();
    expect(link.connection.value).toBe("connected");
  });

  it("asks whether somebody is there when a person comes back after a silence, not otherwise", async () => {
    const { fake, link } = connect();
    link.heard();
    link.touched();
    expect(fake.sent("hello")).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(10_001);
    link.touched();
    link.touched();
    expect(fake.sent("hello")).toHaveLength(1);
  });

  it("leaves no listener and no timer behind", async () => {
    const lab = fakeLab();
    const { fake, link } = connect(lab);
    expect(lab.listeners()).toBe(2);
    link.greet();
    link.dispose();
    expect(lab.listeners()).toBe(0);
    expect([...fake.listeners.values()].every((listeners) => listeners.size === 0)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});

import { beforeEach, describe, expect, it, vi } from "vitest";
import { Desk } from "../../src/bridge/desk";
import { SAVE_AFTER_MS } from "../../src/bridge/drafts";
import { kernelOf } from "../../src/bridge/kernel";
import { LONGEST_BYTES } from "../../src/bridge/link";
import { FakeModel } from "../support/fake_model";
import { readSession } from "../support/fixture";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

async function desk() {
  const fake = new FakeModel(readSession());
  const made = new Desk(
    kernelOf(fake.model, (error) => {
      throw error;
    }),
  );
  await fake.welcome();
  return { fake, desk: made };
}

const reject = (reason: string) => [{ decision: "reject" as const, id: "2.0", reason }];

describe("a message over the connection's limit (W1.5: 12 MB would close it, and be lost)", () => {
  it("is refused before it is sent, says how long it is, and keeps the draft", async () => {
    const { fake, desk: one } = await desk();
    one.setDraft("2.0", { decision: "reject", reason: "typed" });
    one.submit(reject("x".repeat(LONGEST_BYTES)));
    await vi.advanceTimersByTimeAsync(0);
    expect(fake.sent("submit")).toEqual([]);
    expect(one.refusal.value?.error).toMatchObject({ type: "MessageTooLong", next_step: expect.stringContaining("Shorten it") });
    expect(one.refusal.value?.error.what).toContain("5.0 MB");
    expect(one.drafts.value["2.0"]).toEqual({ decision: "reject", reason: "typed" });
    expect(one.sent.value.size).toBe(0);
    one.submit(reject("short"));
    expect(fake.sent("submit")).toHaveLength(1);
    expect(one.refusal.value).toBeNull();
  });

  it("is measured in bytes: letters that take three of them count three times", async () => {
    const { fake, desk: one } = await desk();
    one.submit(reject("\u20ac".repeat(LONGEST_BYTES / 3)));
    await vi.advanceTimersByTimeAsync(0);
    expect(fake.sent("submit")).toEqual([]);
    one.submit(reject("x".repeat(LONGEST_BYTES - 1000)));
    expect(fake.sent("submit")).toHaveLength(1);
  });

  it("a draft that is too long, here or for the session, stays in the page whatever the session tells, and is said", async () => {
    const { fake, desk: one } = await desk();
    const long = { decision: "reject", reason: "x".repeat(LONGEST_BYTES) };
    one.setDraft("2.0", long);
    await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    expect(fake.sent("save_draft")).toEqual([]);
    expect(one.refusal.value?.error.type).toBe("MessageTooLong");
    await fake.message({ kind: "drafts", origin: null, drafts: { "2.1": { decision: "approve" } } });
    expect(one.drafts.value).toEqual({ "2.0": long, "2.1": { decision: "approve" } });

    one.setDraft("2.0", { decision: "reject", reason: "two megabytes, say" });
    await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    const error = { type: "ConfigError", what: "the draft is longer than 1000000 bytes", where: "", next_step: "", at_ms: 0 };
    await fake.message({ kind: "refused", request_id: fake.lastId("save_draft"), error, problems: [] });
    expect(one.refusal.value?.error.what).toContain("longer than");
    await fake.message({ kind: "drafts", origin: null, drafts: {} });
    expect(one.drafts.value["2.0"]).toEqual({ decision: "reject", reason: "two megabytes, say" });
  });

  it("a draft of a card that was answered meanwhile is refused without a word", async () => {
    const { fake, desk: one } = await desk();
    one.setDraft("2.0", { decision: "approve" });
    await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    await fake.push({ pending: fake.state.pending.slice(1) });
    const error = { type: "InvalidResume", what: "nothing of that id waits", where: "", next_step: "", at_ms: 0 };
    await fake.message({ kind: "refused", request_id: fake.lastId("save_draft"), error, problems: [] });
    expect(one.refusal.value).toBeNull();
    expect(one.drafts.value["2.0"]).toBeUndefined();
  });
});

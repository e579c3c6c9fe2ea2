import { beforeEach, describe, expect, it, vi } from "vitest";
import { DraftStore, SAVE_AFTER_MS } from "../../src/bridge/drafts";
import type { Json } from "../../src/wire/index";

beforeEach(() => {
  vi.useFakeTimers();
  return () => vi.useRealTimers();
});

/** A store whose saves are answered when the test says so. */
function store() {
  const saves: { id: string; draft: Json; answer: (taken?: boolean) => void }[] = [];
  const drafts = new DraftStore(
    (id, draft) => new Promise<boolean>((answer) => saves.push({ id, draft, answer: (taken = true) => answer(taken) })),
  );
  return { saves, drafts };
}

describe("drafts", () => {
  it("W1.4: saves what was typed a moment after the last change, once", async () => {
    const { saves, drafts } = store();
    drafts.set("a", { decision: "reject", reason: "n" });
    drafts.set("a", { decision: "reject", reason: "no" });
    await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    expect(saves.map(({ id, draft }) => [id, draft])).toEqual([["a", { decision: "reject", reason: "no" }]]);
  });

  it("has one save per card under way, and sends the newest when it is answered", async () => {
    const { saves, drafts } = store();
    for (const reason of ["1", "2", "3"]) {
      drafts.set("a", { reason });
      await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    }
    expect(saves).toHaveLength(1);
    saves[0]?.answer();
    await vi.advanceTimersByTimeAsync(0);
    expect(saves.map(({ draft }) => draft)).toEqual([{ reason: "1" }, { reason: "3" }]);
  });

  it("takes drafts of other views, but nothing over what is being typed here", async () => {
    const { saves, drafts } = store();
    drafts.set("a", { reason: "mine" });
    drafts.take({ a: { reason: "theirs" }, b: { reason: "other card" }, c: "no draft" });
    expect(drafts.all.value).toEqual({ a: { reason: "mine" }, b: { reason: "other card" } });
    await vi.advanceTimersByTimeAsync(SAVE_AFTER_MS);
    drafts.take({ a: { reason: "theirs" } });
    expect(drafts.all.value).toEqual({ a: { reason: "mine" } });
    saves[0]?.answer();
    await vi.advanceTimersByTimeAsync(0);
    drafts.take({ a: { reason: "theirs" } });
    expect(drafts.all.value).toEqual({ a: { reason: "theirs" } });
  });

  it("forgets the drafts of what was answered, and does not save them any more", async () => {
    const { saves, drafts } = store();
    drafts.set("a", { reason: "x" });
    drafts.keepOnly(new Set(["b"]));
    await vi.advanceTimersByTimeAsync(1000);
    expect(drafts.all.value).toEqual({});
    expect(saves).toEqual([]);
  });

  it("saves at once when the page is about to go", () => {
    const { saves, drafts } = store();
    drafts.set("a", { reason: "x" });
    drafts.set("b", null);
    drafts.flush();
    expect(saves.map(({ id, draft }) => [id, draft])).toEqual([
      ["a", { reason: "x" }],
      ["b", null],
    ]);
  });
});
